// `matoolkit batch retry`, `redo` and `set-variable`: for many members at once. First a dry run says who is meant, then a person
// confirms that number, and the number goes with the request: a selection that has changed meanwhile is refused.
import type { Json } from '../../../domain/json.ts'
import { EXIT, MatoolkitError } from '../../../errors.ts'
import { type CommandContext, type Flags, sayRest, textFlag } from '../../command-context.ts'
import { confirm } from '../../terminal/confirm.ts'
import { printable } from '../../terminal/io.ts'
import type { Column, Row } from '../../terminal/show.ts'
import { askReason } from './actions.ts'
import { batchPath, findMemberId } from './lists.ts'
import { failOnFailedPhase, waitUntilIdle } from './wait.ts'

/** For whom it was not done, and why; the API lists the first of them. */
export interface RefusedMembers {
  readonly refusedCount: number
  readonly refused: readonly { readonly memberId: number; readonly reason: string }[]
}

interface Outcome extends RefusedMembers {
  readonly selectedCount: number
  readonly selected: readonly { readonly memberKey: string }[]
  readonly triedCount: number
  readonly doneCount: number
}

const OUTCOME: readonly Column[] = [
  ['batch', 'batchId'],
  ['selected', 'selectedCount'],
  // A dry run tries some of many, and a server that is stopped leaves some untried.
  ['tried', ({ triedCount, selectedCount }) => (triedCount === selectedCount ? null : triedCount)],
  ['done', 'doneCount'],
  ['refused', 'refusedCount'],
  ['dry run', ({ isDryRun }) => (isDryRun ? 'yes: nothing was done' : null)],
]

/** Who is meant. An empty selection is a mistake, never everybody. */
async function selectionFrom(
  context: CommandContext,
  id: string,
  flags: Flags,
): Promise<Record<string, Json>> {
  const members = flags.member as readonly string[] | undefined
  const ids = members && (await Promise.all(members.map((one) => findMemberId(context, id, one))))
  const filters = {
    ids,
    failedPhase: textFlag(flags, 'failedPhase'),
    failedStep: textFlag(flags, 'failedStep'),
    error: textFlag(flags, 'error'),
  }
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  if (flags.all && given.length === 0) return { all: true }
  if (!flags.all && given.length > 0) return Object.fromEntries(given) as Record<string, Json>
  const reason =
    'Say who is meant: --all, or one or more of --member, --failed-phase, --failed-step, --error.'
  throw new MatoolkitError('USAGE', { reason })
}

interface MembersVerb {
  readonly verb: 'retry' | 'redo' | 'variable'
  /** What happens to them, after their number. */
  readonly words: string
  readonly fields: (flags: Flags) => Record<string, Json>
}

export const memberAction =
  ({ verb, words, fields }: MembersVerb) =>
  async (context: CommandContext, [id]: readonly string[], flags: Flags): Promise<void> => {
    const path = `${batchPath(id)}/members/${verb}`
    const select = await selectionFrom(context, id!, flags)
    const reason =
      textFlag(flags, 'reason') ?? (flags.dryRun ? 'dry run' : await askReason(context))
    const request = { select, reason, ...fields(flags) }
    const { client, show, io } = context
    const tried = await client.post<Outcome>(path, { body: { ...request, dryRun: true } })
    const { selectedCount: members, selected } = tried.body
    if (flags.dryRun) return tell(context, tried.body)
    if (members === 0) {
      const nobody = `Batch ${id} has no members who fit that.`
      throw new MatoolkitError('REFUSED', { reason: nobody })
    }
    const names = selected.slice(0, 3).map(({ memberKey }) => memberKey)
    const more = members > names.length ? ` and ${members - names.length} more` : ''
    await confirm(context, { what: `${names.join(', ')}${more} ${words}.`, members })
    const body = { ...request, expectedCount: members }
    const done = await client.post<Outcome>(path, { body })
    await tell(context, done.body)
    const { refusedCount, triedCount } = done.body
    if (refusedCount > 0 || triedCount < members) io.exitCode = EXIT.failed
    if (!flags.wait) return
    const rest = await waitUntilIdle(context, id!)
    show.say(`Batch ${id} is ${String((rest.batch as Row).status)}.`)
    failOnFailedPhase(context, rest)
  }

async function tell(context: CommandContext, outcome: Outcome): Promise<void> {
  await context.show.one(outcome as unknown as Json, OUTCOME)
  sayRefused(context, outcome)
}

export function sayRefused(
  context: CommandContext,
  { refused, refusedCount }: RefusedMembers,
): void {
  for (const { memberId, reason } of refused) {
    context.show.say(printable(`  refused member ${memberId}: ${reason}`))
  }
  sayRest(context, refused.length, refusedCount, 'correct these and try again for the others')
}

export const runRetry = memberAction({
  verb: 'retry',
  words: 'try again',
  fields: (flags) => fromStep(flags),
})
export const runRedo = memberAction({
  verb: 'redo',
  words: 'do that step and all later ones again',
  fields: (flags) => {
    if (flags.fromStep) return fromStep(flags)
    throw new MatoolkitError('USAGE', {
      reason: 'Name the step to begin with: --from-step <name>.',
    })
  },
})
export const runSetVariable = memberAction({
  verb: 'variable',
  words: 'get that variable',
  fields: (flags) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(textFlag(flags, 'set') ?? '') ?? []
    if (name !== undefined && value !== undefined) return { name, value }
    throw new MatoolkitError('USAGE', { reason: 'Name the variable: --set Name=value.' })
  },
})

const fromStep = (flags: Flags): Record<string, Json> => {
  const step = textFlag(flags, 'fromStep')
  return step === undefined ? {} : { fromStep: step }
}
