// Completion scripts for bash, zsh and fish. All three walk the typed words the same way: a flag with a value takes the next word, a
// command name enters that command, and the words and flags that may follow are offered. Free values complete to files.

export interface CompletionNode {
  /** The words of the command; none for the program itself. */
  readonly path: readonly string[]
  readonly words: readonly { readonly name: string; readonly about: string }[]
  /** Fixed values of its arguments. */
  readonly values: readonly string[]
  /** What its arguments name, in order, to be asked while completing. */
  readonly kinds: readonly CompletionKind[]
  readonly flags: readonly FlagWords[]
}

interface FlagWords {
  readonly names: readonly string[]
  readonly about: string
  readonly takesValue: boolean
  /** Empty if any value fits. */
  readonly values: readonly string[]
  /** What its values name, in order; none for anything else. */
  readonly kinds: readonly CompletionKind[]
}

/** Names and ids that `matoolkit complete` lists. */
export const COMPLETION_KINDS = [
  'runbook',
  'batch',
  'worker',
  'function',
  'member',
  'phase',
  'step',
  'profile',
  'instance',
] as const
export type CompletionKind = (typeof COMPLETION_KINDS)[number]

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
      .filter(({ values, kinds }) => values.length > 0 || kinds.length > 0)
      .map(({ names, values, kinds }) => {
        const patterns = names.map((name) => quoted([...path, name].join(' ')))
        const found =
          kinds.length === 0 ? quoted(values.join(' ')) : `"$(_matoolkit_ask ${kinds.join(',')})"`
        return `    ${patterns.join('|')}) values=${found} ;;`
      }),
  )

function bash(nodes: readonly CompletionNode[]): string {
  const branches = nodes.map((node) => {
    const words = [...node.words.map(({ name }) => name), ...node.values]
    const flags = node.flags.map(({ names }) => names[0]!)
    return `    ${quoted(node.path.join(' '))}) words=${quoted(words.join(' '))} flags=${quoted(flags.join(' '))} takes=${quoted(takingOf(node).join(' '))} kinds=${quoted(node.kinds.join(','))} ;;`
  })
  return `# bash completion for matoolkit; made by "matoolkit completion bash"
_matoolkit_at() {
  words='' flags='' takes='' kinds=''
  case "$1" in
${branches.join('\n')}
  esac
}

${valuesFunction(nodes)}

# Silent when the API does not answer.
_matoolkit_ask() { matoolkit complete "$1" -- "$current" "\${typed[@]}" 2>/dev/null; }

_matoolkit() {
  local words flags takes kinds values word place='' taking='' at typed
  # Bash splits words at "@" too: the line has them whole, and only what follows the last "@" is replaced.
  local line="\${COMP_LINE:0:COMP_POINT}"
  local current="\${line##*[[:space:]]}"
  local kept=''
  [[ $COMP_WORDBREAKS == *@* ]] && kept="\${current%"\${current##*@}"}"
  read -ra typed <<< "\${line%"$current"}"
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
    [[ -n $kinds ]] && words="$words $(_matoolkit_ask "$kinds")"
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
  COMPREPLY=("\${COMPREPLY[@]#"$kept"}")
}

# Files where nothing else fits.
complete -o default -F _matoolkit matoolkit`
}

const described = (name: string, about: string): string =>
  quoted(`${name.replaceAll(':', '\\:')}:${about}`)

function zsh(nodes: readonly CompletionNode[]): string {
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
      kinds=${quoted(node.kinds.join(','))} ;;`
  })
  return `#compdef matoolkit
# zsh completion for matoolkit; made by "matoolkit completion zsh"
_matoolkit_at() {
  next=() flags=() takes=() kinds=''
  case "$1" in
${branches.join('\n')}
  esac
}

${valuesFunction(nodes)}

# Silent when the API does not answer.
_matoolkit_ask() {
  matoolkit complete "$1" -- "\${words[CURRENT]}" "\${(@)words[1,CURRENT-1]}" 2>/dev/null
}

_matoolkit() {
  local -a next flags takes names
  local values kinds word place='' taking=''
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
  elif (( \${#next} )) || [[ -n $kinds ]]; then
    [[ -n $kinds ]] && next+=(\${(f)"$(_matoolkit_ask $kinds)"})
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

const fishAsking = (kinds: readonly CompletionKind[]): string =>
  `(__matoolkit_ask ${kinds.join(',')})`

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
      ...(kinds.length > 0
        ? [`complete -c matoolkit -n ${within} -a ${text(fishAsking(kinds))}`]
        : []),
      ...flags.map(({ names, about, takesValue, values: known, kinds: named }) => {
        const spelled = names.map((name) =>
          name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
        )
        const offers = named.length === 0 ? known.join(' ') : fishAsking(named)
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

function __matoolkit_ask
    # Silent when the API does not answer.
    matoolkit complete $argv[1] -- (commandline -ct | string collect --allow-empty) (commandline -opc) 2>/dev/null
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
