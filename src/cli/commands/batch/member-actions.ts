// `matoolkit batch retry`, `redo` and `set-variable`: actions on many members. A dry run counts the selection, a person confirms
// the number, and the request carries it: a selection that changed in between is refused.
import type { Json } from '../../../domain/json.ts'
import { EXIT, MatoolkitError } from '../../../errors.ts'
import {
  type CommandContext,
  type Flags,
  sayRest,
  textFlag,
  usageError,
} from '../../command-context.ts'
import { printable } from '../../terminal/io.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD, type Row } from '../../terminal/show.ts'
import { batchPath, findMemberId } from './paths.ts'
import { failOnFailedPhase, waitUntilIdle } from './wait.ts'

/** Members that were refused, and why. The API lists the first ones. */
export interface RefusedMembers {
  readonly refusedCount: number
  readonly refused: readonly { readonly memberId: number; readonly reason: string }[]
}

interface MemberActionResult extends RefusedMembers {
  readonly selectedCount: number
  readonly selected: readonly { readonly memberKey: string }[]
  readonly triedCount: number
  readonly doneCount: number
}

const RESULT: readonly Column[] = [
  ['batch', 'batchId'],
  ['selected', 'selectedCount'],
  // A dry run tries only part of a large selection, and a stopping server leaves members untried.
  ['tried', ({ triedCount, selectedCount }) => (triedCount === selectedCount ? null : triedCount)],
  ['done', 'doneCount'],
  ['refused', 'refusedCount'],
  DRY_RUN_FIELD,
]

/** The selected members. No selection is an error; it never means all. */
async function selectionFrom(
  context: CommandContext,
  id: string,
  flags: Flags,
): Promise<Record<string, Json>> {
  const members = flags.member as readonly string[] | undefined
  const ids =
    members && (await Promise.all(members.map((member) => findMemberId(context, id, member))))
  const filters = {
    ids,
    failedPhase: textFlag(flags, 'failedPhase'),
    failedStep: textFlag(flags, 'failedStep'),
    error: textFlag(flags, 'error'),
  }
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  if (flags.all && given.length === 0) return { all: true }
  if (!flags.all && given.length > 0) return Object.fromEntries(given) as Record<string, Json>
  throw usageError(
    'Select members with --all, or with one or more of --member, --failed-phase, --failed-step, --error.',
  )
}

interface MemberAction {
  readonly verb: 'retry' | 'redo' | 'variable'
  /** The effect, as the end of a sentence about the members. */
  readonly words: string
  readonly fields: (flags: Flags) => Record<string, Json>
}

const memberAction =
  ({ verb, words, fields }: MemberAction) =>
  async (context: CommandContext, [id]: readonly string[], flags: Flags): Promise<void> => {
    const path = `${batchPath(id)}/members/${verb}`
    const select = await selectionFrom(context, id!, flags)
    const reason =
      textFlag(flags, 'reason') ?? (flags.dryRun ? 'dry run' : await askReason(context))
    const request = { select, reason, ...fields(flags) }
    const { client, show, io } = context
    const tried = await client.post<MemberActionResult>(path, {
      body: { ...request, dryRun: true },
    })
    const { selectedCount: members, selected } = tried.body
    if (flags.dryRun) return showResult(context, tried.body)
    if (members === 0) {
      throw new MatoolkitError('REFUSED', { reason: `No member of batch ${id} matches.` })
    }
    const names = selected.slice(0, 3).map(({ memberKey }) => memberKey)
    const more = members > names.length ? ` and ${members - names.length} more` : ''
    await confirm(context, { what: `${names.join(', ')}${more} ${words}.`, members })
    const body = { ...request, expectedCount: members }
    const done = await client.post<MemberActionResult>(path, { body })
    await showResult(context, done.body)
    const { refusedCount, triedCount } = done.body
    if (refusedCount > 0 || triedCount < members) io.exitCode = EXIT.failed
    if (!flags.wait) return
    const page = await waitUntilIdle(context, id!)
    show.say(`Batch ${id} is ${String((page.batch as Row).status)}.`)
    failOnFailedPhase(context, page)
  }

async function showResult(context: CommandContext, result: MemberActionResult): Promise<void> {
  await context.show.one(result as unknown as Json, RESULT)
  sayRefused(context, result)
}

export function sayRefused(
  context: CommandContext,
  { refused, refusedCount }: RefusedMembers,
): void {
  for (const { memberId, reason } of refused) {
    context.show.say(printable(`  refused member ${memberId}: ${reason}`))
  }
  sayRest(context, refused.length, refusedCount, 'fix these, then repeat the command for the rest')
}

export const runRetry = memberAction({
  verb: 'retry',
  words: 'are retried',
  fields: (flags) => fromStep(flags),
})
export const runRedo = memberAction({
  verb: 'redo',
  words: 'repeat that step and all later steps',
  fields: (flags) => {
    if (flags.fromStep) return fromStep(flags)
    throw usageError('Name the first step to repeat: --from-step <name>.')
  },
})
export const runSetVariable = memberAction({
  verb: 'variable',
  words: 'get that variable',
  fields: (flags) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(textFlag(flags, 'set') ?? '') ?? []
    if (name !== undefined && value !== undefined) return { name, value }
    throw usageError('Name the variable: --set Name=value.')
  },
})

const fromStep = (flags: Flags): Record<string, Json> => {
  const step = textFlag(flags, 'fromStep')
  return step === undefined ? {} : { fromStep: step }
}
