// The flags of every API command, and their free place: `matoolkit --output json batch list` is `matoolkit batch list --output json`.

export const GLOBAL_FLAGS = [
  ['-o, --output <format>', 'output format'],
  ['--api-url <url>', 'address of the API'],
  ['--instance <which>', 'a running matoolkit up, by folder or port'],
  ['--profile <name>', 'profile to use; see matoolkit config'],
  ['--zone <zone>', 'zone of times: local, utc, runbook, Europe/Berlin'],
  ['--debug', 'log every request to stderr, without secrets'],
] as const

/** By each spelling: whether a value follows. */
const TAKES_VALUE: ReadonlyMap<string, boolean> = new Map(
  GLOBAL_FLAGS.flatMap(([flag]) =>
    flag
      .replace(/ <.*/, '')
      .split(', ')
      .map((name) => [name, flag.includes('<')] as const),
  ),
)

/** Words of a command: noun and verb. */
const WORDS = 2

/** Moves the global flags that stand before or between the words of the command behind all other arguments. */
export function globalFlagsLast(args: readonly string[]): string[] {
  const moved: string[] = []
  const kept: string[] = []
  let at = 0
  while (at < args.length && kept.length < WORDS) {
    const arg = args[at]!
    const takesValue = TAKES_VALUE.get(arg.replace(/=.*/s, ''))
    // Any other flag ends the search: the word behind it may be its value.
    if (takesValue === undefined && arg.startsWith('-')) break
    const length = takesValue && !arg.includes('=') ? 2 : 1
    ;(takesValue === undefined ? kept : moved).push(...args.slice(at, at + length))
    at += length
  }
  const rest = args.slice(at)
  // What follows "--" is never a flag.
  const end = rest.includes('--') ? rest.indexOf('--') : rest.length
  return [...kept, ...rest.slice(0, end), ...moved, ...rest.slice(end)]
}

const MINUS = /^-(?=\d+[smhd]$)/

/** `-30m` is a time, not a flag: with another minus sign the parser of arguments takes it as a value. */
export const keepNegativeTimes = (args: readonly string[]): string[] =>
  args.map((arg) => arg.replace(MINUS, '\u2212'))
