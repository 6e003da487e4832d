// Names and flags of the earlier system's command line. What means the same is translated, with a word on stderr; what means something
// else now is refused with the command to write. Nothing here may change what a current command line means.
import { MatoolkitError } from '../../base/errors/errors.ts'

/** Earlier flag: the current one, or a refusal. An empty flag is dropped. */
type Flags = Readonly<Record<string, string | { readonly refusal: string }>>

const YES: Flags = { '-f': '--yes', '--force': '--yes' }
const RUNBOOK = { '-r': '--runbook' } as const
const STATUS = { '-s': '--status' } as const
const LIMIT = { '-l': '--limit' } as const
const JSON_OUTPUT = { '-j': '--output=json', '--json': '--output=json' } as const
const AUTO = {
  refusal:
    '"--auto" is gone: each phase is started by a person. Run "matoolkit batch advance ID --wait" once per phase.',
} as const
const PREVIEW = {
  refusal: 'A preview shows its first rows; there is no limit to set. Leave "-l" out.',
} as const
const NAME = {
  refusal: 'The name is in the file. Run "matoolkit runbook publish FILE" without "-n".',
} as const

const COMMANDS: Readonly<Record<string, Flags>> = {
  'runbook publish': { '-n': NAME, '--name': NAME },
  'runbook get': { '-v': '--version' },
  'runbook delete': YES,
  'query preview': { '-l': PREVIEW, '--limit': PREVIEW, ...JSON_OUTPUT },
  'batch list': { ...RUNBOOK, ...STATUS },
  'batch advance': { '-a': AUTO, '--auto': AUTO },
  'batch cancel': YES,
  'batch remove-member': YES,
  'batch steps': { '-p': '--phase', ...STATUS, ...LIMIT },
  'auth login': { '--use-device-code': '' },
}

/** Commands whose `-o` named a file, and how to write one now. */
const FILES: Readonly<Record<string, string>> = {
  'runbook get': 'matoolkit runbook get NAME > FILE',
  'template download': 'matoolkit template download RUNBOOK --file FILE',
}

/** The arguments in current words. `warn` gets a sentence for each translation. Throws USAGE for what is gone. */
export function fromEarlierNames(
  args: readonly string[],
  warn: (sentence: string) => void,
): string[] {
  const [noun = '', given = '', ...rest] = args
  const isListed = given === 'ls' && (noun === 'runbook' || noun === 'batch')
  const verb = isListed ? 'list' : given
  if (isListed) warn(`"${noun} ls" is now "matoolkit ${noun} list".`)
  const command = `${noun} ${verb}`
  const flags: Flags = { '-u': '--api-url', ...COMMANDS[command] }
  const end = rest.includes('--') ? rest.indexOf('--') : rest.length
  const current = rest.slice(0, end).flatMap((token, at) => {
    refuseFile(command, token, rest[at + 1])
    const named = Object.hasOwn(flags, token) ? flags[token]! : token
    if (typeof named === 'object') throw new MatoolkitError('USAGE', { reason: named.refusal })
    if (named === token) return [token]
    warn(named === '' ? `"${token}" is not needed any more.` : `"${token}" is now "${named}".`)
    return named === '' ? [] : [named]
  })
  return [...args.slice(0, 1), ...(args.length > 1 ? [verb] : []), ...current, ...rest.slice(end)]
}

function refuseFile(command: string, token: string, value: string | undefined): void {
  const instead = Object.hasOwn(FILES, command) ? FILES[command] : undefined
  // A format is one word; commander refuses an unknown one.
  const isFile = value !== undefined && /[./\\]/.test(value)
  if (instead === undefined || token !== '-o' || !isFile) return
  const reason = `"-o" names the output format now, and "${value}" is none. To write a file: ${instead}`
  throw new MatoolkitError('USAGE', { reason })
}
