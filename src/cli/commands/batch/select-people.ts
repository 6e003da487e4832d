// Which people a command is about: named one by one, in a list, in a file, or by what failed. No selection is an error; it never
// means all.
import type { RequestOf } from '../../../api/client/endpoints.ts'
import { readBytes } from '../../input/files.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { findMemberId } from './named.ts'

/** Flags that select members. */
export const SELECTION = [
  ['--all', 'select all members'],
  ['--members <list>', 'select these members: ids or keys, comma-separated'],
  ['--members-file <path>', 'select the members in this file, one a line'],
  ['--member <member...>', 'select these members, by id or key'],
  ['--failed-phase <name>', 'select members that failed in this phase'],
  ['--failed-step <name>', 'select members that failed in this step'],
  ['--error <text>', 'select members with this text in the error'],
  ['--partial', 'leave out named members who are refused'],
] as const
/** Of commands that take their members as arguments. */
export const NAMED_SELECTION = SELECTION.filter(([flag]) => !flag.startsWith('--member <'))
export const MEMBERS_ARG = ['[member...]', 'ids or keys of members'] as const

/** As the API takes it. */
type Selection = NonNullable<
  RequestOf<'POST /api/batches/{batchId}/members/retry'>['body']
>['select']

export interface Selected {
  readonly select: Selection
  /** Named one by one: the command is for all of them, or for nobody. */
  readonly isNamed: boolean
}

const FLAGS = [
  'all',
  'member',
  'members',
  'membersFile',
  'failedPhase',
  'failedStep',
  'error',
  'held',
]

/** Whether the command names members by flags. */
export const isSelecting = (flags: Flags): boolean =>
  FLAGS.some((name) => flags[name] !== undefined)

export async function selectPeople(
  context: CommandContext,
  id: string,
  people: readonly string[],
  flags: Flags,
): Promise<Selected> {
  const names = [...people, ...((flags.member as readonly string[] | undefined) ?? [])]
  names.push(...listOf(textFlag(flags, 'members'), '--members'))
  names.push(...(await namesInFile(textFlag(flags, 'membersFile'))))
  const filters = {
    ...(names.length > 0 && (await idsAndKeys(context, id, [...new Set(names)]))),
    failedPhase: textFlag(flags, 'failedPhase'),
    failedStep: textFlag(flags, 'failedStep'),
    error: textFlag(flags, 'error'),
    held: flags.held === true ? true : undefined,
  }
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  const isNamed = names.length > 0
  if (flags.all && given.length === 0) return { select: { all: true }, isNamed }
  if (!flags.all && given.length > 0)
    return { select: Object.fromEntries(given) as Selection, isNamed }
  throw usageError(
    'Select members with --all, or with one or more of --members, --members-file, --failed-phase, --failed-step, --error.',
  )
}

export function listOf(text: string | undefined, flag: string): string[] {
  if (text === undefined) return []
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length > 0) return names
  throw usageError(
    `${flag} is "${text}", but must be a list such as ada@contoso.com,ben@contoso.com.`,
  )
}

/** One person a line; of a CSV the first column. Empty lines and lines that start with # do not count. */
export async function namesInFile(file: string | undefined): Promise<string[]> {
  if (file === undefined) return []
  const text = (await readBytes(file)).toString('utf8').replace(/^\uFEFF/, '')
  const names = text
    .split(/\r?\n/)
    .map((line) =>
      line
        .split(/[,;\t]/)[0]!
        .trim()
        .replace(/^"(.*)"$/, '$1'),
    )
    .filter((name) => name !== '' && !name.startsWith('#'))
  if (names.length > 0) return names
  throw usageError(`${file} has no names: write one id or key a line.`)
}

/** Keys go to the API as they are; a number may be an id or a key and is looked up. */
async function idsAndKeys(
  context: CommandContext,
  id: string,
  names: readonly string[],
): Promise<{ ids?: number[]; keys?: string[] }> {
  const ids: number[] = []
  const keys: string[] = []
  for (const name of names) {
    const [, kind, text = ''] = /^(?:(id|key):)?(.*)$/s.exec(name)!
    if (kind === 'key' || (kind === undefined && !/^[1-9]\d*$/.test(text))) keys.push(text)
    else ids.push(await findMemberId(context, id, name))
  }
  return { ...(ids.length > 0 && { ids }), ...(keys.length > 0 && { keys }) }
}
