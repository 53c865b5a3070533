// Models of every kind, each trained with kills and compared with the run without.
#include "stage.hpp"

using namespace planaria;
using namespace planaria::testing;
namespace nn = torch::nn;

namespace {

// A module from a forward function over registered tensors.
struct free_form : nn::Module {
  std::function<torch::Tensor(free_form&, const torch::Tensor&)> body;
  torch::Tensor forward(const torch::Tensor& x) { return body(*this, x); }
  torch::Tensor p(const std::string& name) { return named_parameters()[name]; }
  torch::Tensor b(const std::string& name) { return named_buffers()[name]; }
};

using maker = std::function<std::shared_ptr<free_form>()>;

void use(stage& s, maker make) {
  s.trainer.make = [make = std::move(make)](const model_context&) { return make_model(make()); };
}

std::shared_ptr<free_form> linear_form() {
  auto m = std::make_shared<free_form>();
  m->register_parameter("w", torch::randn({8, 3}));
  m->body = [](free_form& f, const torch::Tensor& x) { return x.matmul(f.p("w")); };
  return m;
}

mesh_result check_with_kills(stage& s) {
  s.mesh.kills = mesh::random_kills(6, 4, 17, s.mesh.peers);
  s.mesh.kills.push_back({"", 8});
  node where;
  return check_same_bits(s, where);
}

torch::Tensor weight(const mesh_result& of, const std::string& name) {
  for (const auto& w : of.weights)
    if (w.name == name) return w.tensor;
  throw std::runtime_error("no weight " + name);
}

}  // namespace

TEST_CASE("BatchNorm keeps its statistics and its integer counter through deaths") {
  stage s;
  s.trainer.make = [](const model_context&) {
    return make_model(nn::Sequential(nn::Linear(8, 16), nn::BatchNorm1d(16), nn::ReLU(), nn::Linear(16, 3)));
  };
  const auto result = check_with_kills(s);
  const auto batches = weight(result, "buffer/1.num_batches_tracked");
  CHECK((batches.scalar_type() == torch::kInt64));
  CHECK(batches.item<std::int64_t>() == static_cast<std::int64_t>(result.steps));
}

TEST_CASE("buffers that forward reassigns are carried along") {
  stage s;
  use(s, [] {
    auto m = linear_form();
    m->register_buffer("seen", torch::zeros({8}));
    m->body = [](free_form& f, const torch::Tensor& x) {
      // A new tensor each time, as user code likes to write it.
      f.named_buffers()["seen"].set_data(f.b("seen") * 0.9 + x.detach().mean(0));
      return (x - f.b("seen") * 0.01).matmul(f.p("w"));
    };
    return m;
  });
  CHECK(weight(check_with_kills(s), "buffer/seen").abs().sum().item<float>() > 0.0F);
}

TEST_CASE("double, float and bf16 live in one model") {
  stage s;
  use(s, [] {
    auto m = std::make_shared<free_form>();
    m->register_parameter("d", torch::randn({8, 8}, torch::kFloat64));
    m->register_parameter("f", torch::randn({8, 3}));
    m->register_parameter("h", torch::randn({3}).to(torch::kBFloat16));
    m->body = [](free_form& f, const torch::Tensor& x) {
      return x.to(torch::kFloat64).matmul(f.p("d")).to(torch::kFloat32).matmul(f.p("f")) + f.p("h").to(torch::kFloat32);
    };
    return m;
  });
  const auto result = check_with_kills(s);
  CHECK((weight(result, "d").scalar_type() == torch::kFloat64));
  CHECK((weight(result, "h").scalar_type() == torch::kBFloat16));
}

TEST_CASE("a 0-dim parameter is averaged like any other") {
  stage s;
  use(s, [] {
    auto m = linear_form();
    m->register_parameter("scale", torch::tensor(1.0F));
    m->body = [](free_form& f, const torch::Tensor& x) { return x.matmul(f.p("w")) * f.p("scale"); };
    return m;
  });
  const auto scale = weight(check_with_kills(s), "scale");
  CHECK(scale.dim() == 0);
  CHECK(scale.item<float>() != 1.0F);
}

TEST_CASE("frozen parameters stay as they were, those no peer uses as well") {
  stage s;
  use(s, [] {
    auto m = linear_form();
    m->register_parameter("frozen", torch::full({3}, 2.0F), false);
    m->register_parameter("unused", torch::full({4}, 3.0F));
    m->body = [](free_form& f, const torch::Tensor& x) { return x.matmul(f.p("w")) + f.p("frozen"); };
    return m;
  });
  const auto result = check_with_kills(s);
  CHECK(torch::equal(weight(result, "frozen"), torch::full({3}, 2.0F)));
  CHECK(torch::equal(weight(result, "unused"), torch::full({4}, 3.0F)));
}

TEST_CASE("a parameter without gradient on some peers counts as zero there") {
  stage s;
  use(s, [] {
    auto m = linear_form();
    m->register_parameter("rare", torch::zeros({3}));
    m->body = [](free_form& f, const torch::Tensor& x) {
      const auto y = x.matmul(f.p("w"));
      return x[0][0].item<float>() > 0.5F ? y + f.p("rare") : y;
    };
    return m;
  });
  CHECK(weight(check_with_kills(s), "rare").abs().sum().item<float>() > 0.0F);
}

TEST_CASE("tied weights stay tied and count once") {
  stage s;
  use(s, [] {
    auto m = std::make_shared<free_form>();
    const auto shared = m->register_parameter("encoder", torch::randn({8, 8}));
    m->register_parameter("decoder", shared);
    m->register_parameter("out", torch::randn({8, 3}));
    m->body = [](free_form& f, const torch::Tensor& x) {
      return torch::relu(x.matmul(f.p("encoder"))).matmul(f.p("decoder")).matmul(f.p("out"));
    };
    return m;
  });
  const auto result = check_with_kills(s);
  // named_parameters() gives a shared parameter once.
  CHECK(result.weights.size() == 2);
}

TEST_CASE("dropout on the step's generator gives the same bits whoever dies") {
  stage s;
  s.trainer.make = [](const model_context& context) {
    return make_model(nn::Sequential(nn::Linear(8, 16), step_dropout(0.5, context.generator), nn::Linear(16, 3)));
  };
  check_with_kills(s);
}

TEST_CASE("LibTorch's own dropout is refused with the remedy, whether one trains or several") {
  stage s;
  s.trainer.make = [](const model_context&) {
    return make_model(nn::Sequential(nn::Linear(8, 16), nn::Dropout(0.5), nn::Linear(16, 3)));
  };
  node where;
  for (const std::int64_t peers : {3, 1}) {
    s.mesh.peers = peers;
    expect_error(
        errc::invalid_input, [&] { mesh_job job(where, s.options()); }, "step_dropout", "Dropout");
  }
}

TEST_CASE("a model without parameters is refused") {
  stage s;
  s.trainer.make = [](const model_context&) { return make_model(nn::Sequential(nn::ReLU())); };
  node where;
  expect_error(
      errc::invalid_input, [&] { mesh_job job(where, s.options()); }, "no parameter");
  expect_error(
      errc::invalid_input, [&] { check_options(s.options()); }, "no parameter");
}
