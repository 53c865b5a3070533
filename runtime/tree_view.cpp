#include <planaria/runtime/tree_view.hpp>

#include <nlohmann/json.hpp>

namespace planaria {
namespace {

const char* to_word(child_type type) { return type == child_type::supervisor ? "supervisor" : "worker"; }

nlohmann::ordered_json json_of(const child_view& view) {
  nlohmann::ordered_json json{{"path", view.path},
                              {"type", to_word(view.type)},
                              {"status", to_string(view.status)},
                              {"incarnation", view.incarnation},
                              {"restarts", view.restarts}};
  if (view.type != child_type::supervisor) return json;
  json["children"] = nlohmann::ordered_json::array();
  for (const auto& child : view.children) json["children"].push_back(json_of(child));
  return json;
}

void append_text(std::string& text, const child_view& view, std::size_t depth) {
  text.append(2 * depth, ' ');
  const auto slash = view.path.rfind('/');
  text += view.path.empty() ? "(root)" : view.path.substr(slash == std::string::npos ? 0 : slash + 1);
  text += std::string("  ") + to_word(view.type) + ' ' + std::string(to_string(view.status)) + ", incarnation " +
          std::to_string(view.incarnation) + ", restarts " + std::to_string(view.restarts) + '\n';
  for (const auto& child : view.children) append_text(text, child, depth + 1);
}

}  // namespace

std::string_view to_string(child_status status) noexcept {
  switch (status) {
    case child_status::running: return "running";
    case child_status::starting: return "starting";
    case child_status::restarting: return "restarting";
    case child_status::stopping: return "stopping";
    case child_status::stopped: return "stopped";
  }
  return "unknown";
}

std::string to_text(const child_view& tree) {
  std::string text;
  append_text(text, tree, 0);
  return text;
}

std::string to_json(const child_view& tree) { return json_of(tree).dump(); }

}  // namespace planaria
