#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace oriel::cli {
namespace {

struct OptionWords {
  std::string lname, sname, text;  // --kernel, -k
  std::string values;
  bool takes_value = false, takes_file = false;
};

struct CommandWords {
  std::string command, text;
  std::vector<OptionWords> options;
  std::string positional_values;
  bool takes_files = false;
};

// The words of a check that CLI11 makes: its type name is like TEXT:{cover,contain}.
std::string checked_words(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  std::string words = type.substr(begin + 1, end - begin - 1);
  std::replace(words.begin(), words.end(), ',', ' ');
  return words;
}

std::string values_of(const CLI::Option& option, const std::string& name, ValueWords words) {
  const std::string own = words(name);
  return own.empty() ? checked_words(option) : own;
}

bool takes_file(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type == "FILE" || type == "WHAT";  // WHAT may be a picture
}

CommandWords words_of(const CLI::App& app, ValueWords values) {
  CommandWords words{.command = app.get_name(),
                     .text = app.get_description(),
                     .options = {},
                     .positional_values = "",
                     .takes_files = false};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      words.positional_values += values_of(*option, option->get_name(), values);
      words.takes_files = words.takes_files || option->get_name() == "IN" || option->get_name() == "OUT";
    }
    if (option->get_lnames().empty()) continue;
    const std::string lname = "--" + option->get_lnames()[0];
    words.options.push_back({.lname = lname,
                             .sname = option->get_snames().empty() ? "" : "-" + option->get_snames()[0],
                             .text = option->get_description(),
                             .values = values_of(*option, lname, values),
                             .takes_value = option->get_items_expected_max() > 0,
                             .takes_file = takes_file(*option)});
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

// What the shells call the function that completes `program`.
std::string function_of(const std::string& program) {
  std::string name = "_" + program;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string bash(const std::string& program, const std::vector<CommandWords>& commands) {
  std::string values, cases, files;
  std::set<std::string> seen;  // several commands have the same options
  for (const CommandWords& c : commands) {
    cases += fmt::format("    {}) words=\"{}\"; files={} ;;\n", c.command,
                         option_list(c) + (c.positional_values.empty() ? "" : " " + c.positional_values),
                         c.takes_files ? 1 : 0);
    for (const OptionWords& o : c.options) {
      if (!seen.insert(o.lname).second) continue;
      const std::string names = o.sname.empty() ? o.lname : o.lname + "|" + o.sname;
      if (!o.values.empty())
        values += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); return ;;\n", names, o.values);
      if (o.takes_file) files += (files.empty() ? "" : "|") + names;
    }
  }
  return fmt::format(R"(# bash completion for {0}; load it with: source <({0} completion bash)
{1}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= words= files=0 word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in {2}) command=$word; break ;; esac
  done
  case $prev in
{3}    {4}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  case $command in
    "") words="{5} --help --version" ;;
{6}  esac
  if [[ $files == 1 && $cur != -* ]]; then COMPREPLY=($(compgen -f -- "$cur")); return; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o filenames -F {1} {0}
)",
                     program, function_of(program), command_list(commands, "|"), values, files,
                     command_list(commands, " "), cases);
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

std::string zsh(const std::string& program, const std::vector<CommandWords>& commands) {
  std::string list, cases;
  for (const CommandWords& c : commands) {
    list += fmt::format("    '{}:{}'\n", c.command, zsh_text(c.text));
    cases += fmt::format("    {})\n      _arguments", c.command);
    for (const OptionWords& o : c.options) {
      const std::string action = !o.takes_value     ? ""
                                 : o.values.empty() ? ":value:_files"
                                                    : fmt::format(":value:({})", o.values);
      cases += fmt::format(" \\\n        '{}[{}]{}'", o.lname, zsh_text(o.text), action);
    }
    const std::string rest = c.takes_files                 ? "_files"
                             : c.positional_values.empty() ? " "
                                                           : "(" + c.positional_values + ")";
    cases += fmt::format(" \\\n        '*:argument:{}' ;;\n", rest);
  }
  return fmt::format(R"(#compdef {0}
# zsh completion for {0}; load it with: source <({0} completion zsh)
{1}() {{
  local -a commands
  commands=(
{2}  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
{3}  esac
}}
compdef {1} {0}
)",
                     program, function_of(program), list, cases);
}

std::string fish_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish(const std::string& program, const std::vector<CommandWords>& commands) {
  std::string out =
      fmt::format("# fish completion for {0}; put it into ~/.config/fish/completions/{0}.fish\n", program);
  for (const CommandWords& c : commands) {
    out += fmt::format("complete -c {} -f -n __fish_use_subcommand -a {} -d '{}'\n", program, c.command,
                       fish_text(c.text));
    const std::string seen = fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'", program, c.command);
    if (!c.takes_files) out += fmt::format("{} -f -a '{}'\n", seen, c.positional_values);
    for (const OptionWords& o : c.options) {
      out += fmt::format("{} -l {}", seen, o.lname.substr(2));
      if (!o.sname.empty()) out += " -s " + o.sname.substr(1);
      if (o.takes_value) out += " -r";
      if (!o.values.empty()) out += fmt::format(" -f -a '{}'", o.values);
      out += fmt::format(" -d '{}'\n", fish_text(o.text));
    }
  }
  return out;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell, ValueWords words) {
  std::vector<CommandWords> commands;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(words_of(*sub, words));
  const auto script = shell == "bash" ? bash : shell == "zsh" ? zsh : fish;
  return script(app.get_name(), commands);
}

}  // namespace oriel::cli
