import type { Command, Option } from 'commander'
import { listConfigKeys } from '../../index.ts'
import { print } from '../exit.ts'

/**
 * The completions of a command. `path` is its name after those of its parents, such as ` keys create`; empty for the
 * program.
 */
type Place = { readonly path: string; readonly command: Command; readonly words: readonly string[] }

/** Prints the completion script of a shell: commands, flags, values of flags, configuration keys. */
export async function printCompletion(
  shell: 'bash' | 'zsh' | 'fish',
  program: Command,
  { format }: { readonly format: string },
): Promise<void> {
  const places = [...placesOf(program, '', keyWords(await listConfigKeys()))]
  const script = shell === 'fish' ? fish(places) : shell === 'zsh' ? zsh(places) : bash(places)
  print(format === 'json' ? JSON.stringify({ shell, script }) : script)
}

/** By command: the configuration keys that it accepts. `config` prints a file with its own names. */
type KeyWords = { readonly [path: string]: readonly string[] }

function keyWords(keys: readonly { readonly path: string }[]): KeyWords {
  const plugins = keys.flatMap(({ path }) => /^pipeline\[\]\.([^.]+)$/.exec(path)?.[1] ?? [])
  const section = new RegExp(`^(?:families|pipeline)\\.(?=(?:${plugins.join('|')})\\b)`)
  const paths = keys.map(({ path }) => path.replaceAll(/\.NAME\b|\[\]/g, '').replace(section, ''))
  const fixed = keys.filter(({ path }) => !/\bNAME\b|\[\]/.test(path)).map(({ path }) => path)
  return { ' docs': [...new Set(paths)], ' config': fixed }
}

function* placesOf(command: Command, path: string, keys: KeyWords): Generator<Place> {
  const below = command.commands.map(child => child.name())
  const first = command.registeredArguments[0]?.argChoices ?? []
  yield { path, command, words: [...below, ...first, ...(keys[path] ?? [])] }
  for (const child of command.commands) yield* placesOf(child, `${path} ${child.name()}`, keys)
}

function flagsOf({ command }: Place): readonly Option[] {
  return command.createHelp().visibleOptions(command)
}

function flagNames(options: readonly Option[]): readonly string[] {
  return options.flatMap(option => [option.long, option.short].filter(flag => flag !== undefined && flag !== null))
}

function bash(places: readonly Place[]): string {
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => `"${path}"`)
  const words = places.map(
    place => `    "${place.path}") words="${[...place.words, ...flagNames(flagsOf(place))].join(' ')}" ;;`,
  )
  const values = places.flatMap(place =>
    flagsOf(place).flatMap(({ long, argChoices }) =>
      argChoices ? [`    "${place.path} ${long ?? ''}") words="${argChoices.join(' ')}" ;;`] : [],
    ),
  )
  const files = places.flatMap(place =>
    flagsOf(place).flatMap(option =>
      (option.required || option.optional) && !option.argChoices
        ? flagNames([option]).map(flag => `"${place.path} ${flag}"`)
        : [],
    ),
  )
  return `# tollgate completion bash > /etc/bash_completion.d/tollgate, or: eval "$(tollgate completion bash)"
_tollgate() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
    ${paths.join(' | ')}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path" in
${words.join('\n')}
  esac
  case "$path $prev" in
${values.join('\n')}
    ${files.join(' | ')}) words="" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _tollgate tollgate`
}

/** The script for zsh runs the bash completion. */
function zsh(places: readonly Place[]): string {
  return `#compdef tollgate
# tollgate completion zsh > a file _tollgate in a folder of $fpath, or: eval "$(tollgate completion zsh)"
autoload -U +X bashcompinit && bashcompinit
${bash(places).split('\n').slice(1).join('\n')}`
}

function fish(places: readonly Place[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const paths = places.map(({ path }) => quote(path))
  const lines = places.flatMap(place => {
    const at = `complete -c tollgate -n ${quote(`__tollgate_at ${quote(place.path)}`)}`
    const words = place.words.map(word => {
      const child = place.command.commands.find(child => child.name() === word)
      return `${at} -f -a ${quote(word)}${child ? ` -d ${quote(child.description())}` : ''}`
    })
    const flags = flagsOf(place).map(option => {
      const names = [option.long ? `-l ${option.long.slice(2)}` : '', option.short ? `-s ${option.short.slice(1)}` : '']
      const value = option.argChoices ? `-x -a ${quote(option.argChoices.join(' '))}` : option.required ? '-r' : ''
      return [at, ...names, value, `-d ${quote(option.description)}`].filter(part => part !== '').join(' ')
    })
    return [...words, ...flags]
  })
  return `# tollgate completion fish > ~/.config/fish/completions/tollgate.fish
function __tollgate_at
    set -l path ''
    for word in (commandline -opc)[2..-1]
        contains -- "$path $word" ${paths.join(' ')}
        and set path "$path $word"
    end
    test "$path" = $argv[1]
end
${lines.join('\n')}`
}
