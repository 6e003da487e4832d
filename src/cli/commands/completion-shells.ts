// Completion scripts for bash, zsh and fish. All three walk the typed words the same way: a flag with a value takes the next word, a
// command name enters that command, and the words and flags that may follow are offered. Free values complete to files.

export interface CompletionNode {
  /** The words of the command; none for the program itself. */
  readonly path: readonly string[]
  readonly words: readonly { readonly name: string; readonly about: string }[]
  /** Fixed values of its arguments. */
  readonly values: readonly string[]
  /** What its arguments name, to be asked from the API while completing. */
  readonly kinds: readonly CompletionKind[]
  readonly flags: readonly FlagWords[]
}

interface FlagWords {
  readonly names: readonly string[]
  readonly about: string
  readonly takesValue: boolean
  /** Empty if any value fits. */
  readonly values: readonly string[]
  /** What its value names; null for anything else. */
  readonly kind: CompletionKind | null
}

/** Names and ids that `matoolkit complete` lists. */
export type CompletionKind = 'runbook' | 'batch' | 'worker' | 'function'

export type Shell = 'bash' | 'zsh' | 'fish'

export const COMPLETION_SHELLS: Readonly<
  Record<Shell, (nodes: readonly CompletionNode[]) => string>
> = {
  bash,
  zsh,
  fish,
}

/** For bash and zsh: in single quotes only the quote itself is special. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const namesOf = (flags: readonly FlagWords[]): string[] => flags.flatMap(({ names }) => names)
const takingOf = ({ flags }: CompletionNode): string[] =>
  namesOf(flags.filter((flag) => flag.takesValue))

/** A shell function with the values of each flag, the same in bash and zsh. */
const valuesFunction = (nodes: readonly CompletionNode[]): string => `_matoolkit_values() {
  values=''
  case "$1" in
${valueBranches(nodes).join('\n')}
  esac
}`

/** Branches of a `case` over a command and a flag with fixed values. */
const valueBranches = (nodes: readonly CompletionNode[]): string[] =>
  nodes.flatMap(({ path, flags }) =>
    flags
      .filter(({ values, kind }) => values.length > 0 || kind !== null)
      .map(({ names, values, kind }) => {
        const patterns = names.map((name) => quoted([...path, name].join(' ')))
        const found = kind === null ? quoted(values.join(' ')) : `"$(${asking(kind)})"`
        return `    ${patterns.join('|')}) values=${found} ;;`
      }),
  )

/** Silent when the API does not answer. */
const asking = (kind: CompletionKind): string => `matoolkit complete ${kind} 2>/dev/null`

function bash(nodes: readonly CompletionNode[]): string {
  const branches = nodes.map((node) => {
    const words = [...node.words.map(({ name }) => name), ...node.values]
    const flags = node.flags.map(({ names }) => names[0]!)
    return `    ${quoted(node.path.join(' '))}) words=${quoted(words.join(' '))} flags=${quoted(flags.join(' '))} takes=${quoted(takingOf(node).join(' '))} kinds=${quoted(node.kinds.join(' '))} ;;`
  })
  return `# bash completion for matoolkit; made by "matoolkit completion bash"
_matoolkit_at() {
  words='' flags='' takes='' kinds=''
  case "$1" in
${branches.join('\n')}
  esac
}

${valuesFunction(nodes)}

_matoolkit() {
  local words flags takes kinds kind values word place='' taking='' at
  local current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  _matoolkit_at ''
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    if [[ -n $taking ]]; then
      taking=''
    elif [[ " $takes " == *" $word "* ]]; then
      taking="$word"
    elif [[ " $words " == *" $word "* ]]; then
      place="\${place:+$place }$word"
      _matoolkit_at "$place"
    fi
  done
  if [[ -n $taking ]]; then
    _matoolkit_values "$place $taking"
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  else
    for kind in $kinds; do words="$words $(matoolkit complete "$kind" 2>/dev/null)"; done
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}

# Files where nothing else fits.
complete -o default -F _matoolkit matoolkit`
}

function zsh(nodes: readonly CompletionNode[]): string {
  const described = (name: string, about: string) =>
    quoted(`${name.replaceAll(':', '\\:')}:${about}`)
  const branches = nodes.map((node) => {
    const words = [
      ...node.words.map(({ name, about }) => described(name, about)),
      ...node.values.map((value) => described(value, '')),
    ]
    const flags = node.flags.flatMap(({ names, about }) =>
      names.map((name) => described(name, about)),
    )
    return `    ${quoted(node.path.join(' '))})
      next=(${words.join(' ')})
      flags=(${flags.join(' ')})
      takes=(${takingOf(node).join(' ')})
      kinds=(${node.kinds.join(' ')}) ;;`
  })
  return `#compdef matoolkit
# zsh completion for matoolkit; made by "matoolkit completion zsh"
_matoolkit_at() {
  next=() flags=() takes=() kinds=()
  case "$1" in
${branches.join('\n')}
  esac
}

${valuesFunction(nodes)}

_matoolkit() {
  local -a next flags takes names kinds
  local values kind word place='' taking=''
  _matoolkit_at ''
  for word in "\${(@)words[2,CURRENT-1]}"; do
    names=("\${(@)next%%:*}")
    if [[ -n $taking ]]; then
      taking=''
    elif (( \${takes[(Ie)$word]} )); then
      taking=$word
    elif (( \${names[(Ie)$word]} )); then
      place="\${place:+$place }$word"
      _matoolkit_at "$place"
    fi
  done
  if [[ -n $taking ]]; then
    _matoolkit_values "$place $taking"
    if [[ -n $values ]]; then
      compadd -- \${=values}
    else
      _files
    fi
  elif [[ \${words[CURRENT]} == -* ]]; then
    _describe -o flag flags
  elif (( \${#next} || \${#kinds} )); then
    for kind in $kinds; do next+=(\${(f)"$(matoolkit complete $kind 2>/dev/null)"}); done
    if (( \${#next} )); then _describe word next; else _files; fi
  else
    _files
  fi
}

if [[ \${funcstack[1]} == _matoolkit ]]; then
  _matoolkit "$@"
else
  compdef _matoolkit matoolkit
fi`
}

function fish(nodes: readonly CompletionNode[]): string {
  const text = (raw: string) => `'${raw.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = nodes.flatMap(({ path, words, values, flags, kinds }) => {
    const exactly = text(['__matoolkit_at', ...path].join(' '))
    const within = text(['__matoolkit_within', ...path].join(' '))
    const offered = [...words, ...values.map((name) => ({ name, about: '' }))]
    return [
      ...offered.map(
        ({ name, about }) =>
          `complete -c matoolkit -f -n ${exactly} -a ${name}${about ? ` -d ${text(about)}` : ''}`,
      ),
      ...kinds.map((kind) => `complete -c matoolkit -n ${within} -a ${text(`(${asking(kind)})`)}`),
      ...flags.map(({ names, about, takesValue, values: known, kind }) => {
        const spelled = names.map((name) =>
          name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
        )
        const offers = kind === null ? known.join(' ') : `(${asking(kind)})`
        const value = offers === '' ? (takesValue ? ' -r' : '') : ` -x -a ${text(offers)}`
        return `complete -c matoolkit -n ${path.length === 0 ? exactly : within} ${spelled.join(' ')}${value} -d ${text(about)}`
      }),
    ]
  })
  return `# fish completion for matoolkit; made by "matoolkit completion fish"
function __matoolkit_typed
    # What was typed before this word, without the program and without flags.
    set -l typed (commandline -opc)
    set -e typed[1]
    for word in $typed
        string match -q -- '-*' $word; or echo $word
    end
end

function __matoolkit_at
    set -l typed (__matoolkit_typed)
    test "$typed" = "$argv"
end

function __matoolkit_within
    set -l typed (__matoolkit_typed)
    string match -q -- "$argv *" "$typed "
end

${lines.join('\n')}`
}
