#include <fmt/format.h>

#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/progress.h"

namespace oriel::cli {
namespace {

// Words that may follow an option or a positional; empty: a file or free text.
std::string values_of(const std::string& option) {
  if (option == "--op") return "max min avg sum lp";
  if (option == "--padding") return "same same_lower valid";
  if (option == "--nan") return "propagate omit";
  if (option == "--index-space") return "plane tensor";
  if (option == "--format") return "npy npz png jpg tif webp";
  if (option == "--dtype") return "f64 f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool";
  if (option == "SHELL") return "bash zsh fish";
  return "";
}

struct OptionWords {
  std::string lname, sname, text;  // --kernel, -k
  bool takes_value = false;
};

struct CommandWords {
  std::string command, text;
  std::vector<OptionWords> options;
  std::string positional_values;
  bool takes_files = false;
};

CommandWords words_of(const CLI::App& app) {
  CommandWords words{.command = app.get_name(),
                     .text = app.get_description(),
                     .options = {},
                     .positional_values = "",
                     .takes_files = false};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      words.positional_values += values_of(option->get_name());
      words.takes_files = words.takes_files || option->get_name() == "IN" || option->get_name() == "OUT";
    }
    if (option->get_lnames().empty()) continue;
    words.options.push_back({"--" + option->get_lnames()[0],
                             option->get_snames().empty() ? "" : "-" + option->get_snames()[0],
                             option->get_description(), option->get_items_expected_max() > 0});
  }
  return words;
}

std::string option_list(const CommandWords& words) {
  std::string list;
  for (const OptionWords& o : words.options) list += (list.empty() ? "" : " ") + o.lname;
  return list;
}

std::string command_list(const std::vector<CommandWords>& commands, const char* separator) {
  std::string list;
  for (const CommandWords& c : commands) list += (list.empty() ? "" : separator) + c.command;
  return list;
}

std::string bash(const std::vector<CommandWords>& commands) {
  std::string values, cases;
  for (const CommandWords& c : commands) {
    cases += fmt::format("    {}) words=\"{}\"; files={} ;;\n", c.command,
                         option_list(c) + (c.positional_values.empty() ? "" : " " + c.positional_values),
                         c.takes_files ? 1 : 0);
    for (const OptionWords& o : c.options)
      if (const std::string v = values_of(o.lname); !v.empty())
        values += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); return ;;\n", o.lname, v);
  }
  return fmt::format(R"(# bash completion for oriel; load it with: source <(oriel completion bash)
_oriel() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= words= files=0 word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in {}) command=$word; break ;; esac
  done
  case $prev in
{}    --indices|--svg) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  case $command in
    "") words="{} --help --version" ;;
{}  esac
  if [[ $files == 1 && $cur != -* ]]; then COMPREPLY=($(compgen -f -- "$cur")); return; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o filenames -F _oriel oriel
)",
                     command_list(commands, "|"), values, command_list(commands, " "), cases);
}

// Text inside single quotes and square brackets.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c == '\'' ? '"' : c;
  }
  return out;
}

std::string zsh(const std::vector<CommandWords>& commands) {
  std::string list, cases;
  for (const CommandWords& c : commands) {
    list += fmt::format("    '{}:{}'\n", c.command, zsh_text(c.text));
    cases += fmt::format("    {})\n      _arguments", c.command);
    for (const OptionWords& o : c.options) {
      const std::string values = values_of(o.lname);
      const std::string action = !o.takes_value   ? ""
                                 : values.empty() ? ":value:_files"
                                                  : fmt::format(":value:({})", values);
      cases += fmt::format(" \\\n        '{}[{}]{}'", o.lname, zsh_text(o.text), action);
    }
    const std::string rest = c.takes_files                 ? "_files"
                             : c.positional_values.empty() ? " "
                                                           : "(" + c.positional_values + ")";
    cases += fmt::format(" \\\n        '*:argument:{}' ;;\n", rest);
  }
  return fmt::format(R"(#compdef oriel
# zsh completion for oriel; load it with: source <(oriel completion zsh)
_oriel() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
{}  esac
}}
compdef _oriel oriel
)",
                     list, cases);
}

std::string fish_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish(const std::vector<CommandWords>& commands) {
  std::string out = "# fish completion for oriel; put it into ~/.config/fish/completions/oriel.fish\n";
  for (const CommandWords& c : commands) {
    out += fmt::format("complete -c oriel -f -n __fish_use_subcommand -a {} -d '{}'\n", c.command, fish_text(c.text));
    const std::string seen = fmt::format("complete -c oriel -n '__fish_seen_subcommand_from {}'", c.command);
    if (!c.takes_files) out += fmt::format("{} -f -a '{}'\n", seen, c.positional_values);
    for (const OptionWords& o : c.options) {
      out += fmt::format("{} -l {}", seen, o.lname.substr(2));
      if (!o.sname.empty()) out += " -s " + o.sname.substr(1);
      if (o.takes_value) out += " -r";
      if (const std::string v = values_of(o.lname); !v.empty()) out += fmt::format(" -f -a '{}'", v);
      out += fmt::format(" -d '{}'\n", fish_text(o.text));
    }
  }
  return out;
}

}  // namespace

int run_completion(const CompletionCommand& command) {
  Typed typed;
  CLI::App app;
  add_commands(app, typed);
  std::vector<CommandWords> commands;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(words_of(*sub));
  print(command.shell == "bash" ? bash(commands) : command.shell == "zsh" ? zsh(commands) : fish(commands));
  return kExitDone;
}

}  // namespace oriel::cli
