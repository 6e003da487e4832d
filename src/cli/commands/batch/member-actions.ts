// `matoolkit batch retry`, `readd-member`, `set-variable` …: actions on one or many members. A dry run names the people, a
// person confirms, and the request carries their number: a selection that changed in between is refused.

import type { Answer, RequestOf } from '../../../api/client/endpoints.ts'
import { EXIT, MatoolkitError } from '../../../base/errors/errors.ts'
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { lostApprovalTexts } from '../../../domain/plan/lost-approvals.ts'
import { statesText } from '../../../domain/state/person-state.ts'
import { UNDO_WORDS } from '../../../domain/state/undo-states.ts'
import { givenTo } from '../../connection/client.ts'
import {
  type CommandContext,
  type Flags,
  sayRest,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD } from '../../terminal/show.ts'
import { warnLost } from '../starts.ts'
import { findWave, namedBatch } from './named.ts'
import { outputsFrom } from './outputs.ts'
import { selectPeople } from './select-people.ts'
import { waitUntilIdle } from './wait.ts'

type MemberVerb =
  | 'retry'
  | 'skip'
  | 'remove'
  | 'readd'
  | 'move'
  | 'rollback'
  | 'variable'
  | 'undo'
  | 'hold'
  | 'resume'
type EndpointOf<V extends MemberVerb> = `POST /api/batches/{batchId}/members/${V}`
type Outcome = Answer<EndpointOf<'retry'>>
/** What a verb needs besides the selection, the reason and the consent. */
type Fields<V extends MemberVerb> = Omit<
  NonNullable<RequestOf<EndpointOf<V>>['body']>,
  'select' | 'reason' | 'dryRun' | 'allOrNothing' | 'expectedCount'
>

/** Members that were refused, and why. The API lists the first ones. */
export interface RefusedMembers {
  readonly refusedCount: number
  readonly refused: readonly {
    readonly memberId: number
    readonly memberKey?: string
    readonly reason: string
  }[]
}

/** For CSV; people read sentences. */
const RESULT: readonly Column<Outcome>[] = [
  ['batch', 'batchId'],
  ['selected', 'selectedCount'],
  // A dry run tries only part of a large selection, and a stopping server leaves members untried.
  ['tried', ({ triedCount, selectedCount }) => (triedCount === selectedCount ? null : triedCount)],
  ['done', 'doneCount'],
  ['refused', 'refusedCount'],
  DRY_RUN_FIELD,
]

interface MemberAction<V extends MemberVerb> {
  /** The last part of the path. */
  readonly verb: V
  /** What happens to the people: after `will` and `would`, and as it has happened to one or many. */
  readonly words: { readonly will: string; readonly one: string; readonly many: string }
  /** More about it, a sentence. */
  readonly more?: string
  readonly fields?: (
    flags: Flags,
    context: CommandContext,
    batchId: string,
  ) => Fields<V> | Promise<Fields<V>>
  /** What the answer says besides the people, as lines. */
  readonly plan?: (answer: Answer<EndpointOf<V>>) => string[]
}
type Words = MemberAction<MemberVerb>['words']

const are = (participle: string): Words => ({
  will: `be ${participle}`,
  one: `was ${participle}`,
  many: `were ${participle}`,
})
const pass = (verb: string, past: string): Words => ({
  will: verb,
  one: past,
  many: past,
})

/** `1 person will be retried: ada`, `12 people were skipped: ada, ben … and 2 more`. */
function peopleText(count: number, named: Outcome['done'], what: string): string {
  const names = named.slice(0, NAMED_MAX).map(({ memberKey }) => memberKey)
  const more = count > names.length ? ` and ${count - names.length} more` : ''
  const list = names.length > 0 ? `: ${names.join(', ')}${more}` : ''
  return `${countText(count, 'person', 'people')} ${what}${list}`
}

const NAMED_MAX = 10

const memberAction =
  <V extends MemberVerb>(action: MemberAction<V>) =>
  async (
    context: CommandContext,
    [id, ...people]: readonly string[],
    flags: Flags,
  ): Promise<void> => {
    const { client, io } = context
    const { select, isNamed } = await selectPeople(context, id!, people, flags)
    const fields = (await action.fields?.(flags, context, id!)) ?? {}
    const reason =
      textFlag(flags, 'reason') ?? (flags.dryRun ? 'dry run' : await askReason(context))
    const params = namedBatch(id)
    const send = (more: object) => {
      const body = { select, reason, ...fields, ...more }
      const endpoint: EndpointOf<V> = `POST /api/batches/{batchId}/members/${action.verb}`
      return client.call(endpoint, givenTo<EndpointOf<V>>(params, body))
    }
    const tried = await send({ dryRun: true })
    const { selectedCount: members } = tried
    if (flags.dryRun) return showResult(context, tried, action)
    const allOrNothing = isNamed && !flags.partial
    requireSomebody(tried, id!, allOrNothing)
    await confirm(context, { what: questionOf(tried, action), members })
    const done = await send({ allOrNothing, expectedCount: members })
    await showResult(context, done, action)
    const { refusedCount, triedCount } = done
    if (refusedCount > 0 || triedCount < members) io.exitCode = EXIT.failed
    if (flags.wait) await waitForPeople(context, id!, done, action)
  }

function questionOf<V extends MemberVerb>(
  tried: Answer<EndpointOf<V>>,
  { words, more, plan }: MemberAction<V>,
): string {
  const { selectedCount, selected, refusedCount, refused } = tried
  const out = new Set(refused.map(({ memberKey }) => memberKey))
  const willBe = selected.filter(({ memberKey }) => !out.has(memberKey))
  const lines = [`${peopleText(selectedCount - refusedCount, willBe, `will ${words.will}`)}.`]
  if (more) lines.push(more)
  lines.push(...(plan?.(tried) ?? []), ...lostApprovalTexts(tried.approvalsLost))
  return [...lines, ...refused.slice(0, NAMED_MAX).map(refusalLine)].join('\n')
}

const refusalLine = ({ memberId, memberKey, reason }: RefusedMembers['refused'][number]): string =>
  `  ${memberKey ?? `member ${memberId}`} is refused: ${reason}`

/** Names people who cannot be changed: all or nobody. A filter may leave some out, but never everybody. */
function requireSomebody(
  { selectedCount, refusedCount, refused, triedCount }: Outcome,
  id: string,
  allOrNothing: boolean,
): void {
  if (selectedCount === 0)
    throw new MatoolkitError('REFUSED', { reason: `No member of batch ${id} matches.` })
  const isEverybody = refusedCount === triedCount && triedCount === selectedCount
  if (refusedCount === 0 || !(allOrNothing || isEverybody)) return
  const lines = refused.slice(0, NAMED_MAX).map((one) => `\n${refusalLine(one)}`)
  const rest = isEverybody ? '' : '\nLeave them out, or use --partial for the others.'
  const reason = `No one was changed: ${refusedCount} of ${countText(selectedCount, 'person', 'people')} refused.${lines.join('')}${rest}`
  throw new MatoolkitError('REFUSED', { reason: printable(reason) })
}

/** For the people who were changed, not for the wave: others of it may run for hours. */
async function waitForPeople<V extends MemberVerb>(
  context: CommandContext,
  id: string,
  { actionId }: Answer<EndpointOf<V>>,
  { verb }: MemberAction<V>,
): Promise<void> {
  if (actionId === null) return
  await waitUntilIdle(context, id, actionId)
  const { now, failedAgain } = await context.client.call('GET /api/actions/{actionId}', {
    params: { actionId },
  })
  context.show.say(`No step of theirs is open: ${statesText(now)}.`)
  // A rollback ends people as failed on purpose.
  const isBack = verb === 'rollback' || verb === 'undo'
  if ((isBack ? now.failed : failedAgain) > 0) context.io.exitCode = EXIT.failed
}

async function showResult<V extends MemberVerb>(
  context: CommandContext,
  result: Answer<EndpointOf<V>>,
  { words, plan }: MemberAction<V>,
): Promise<void> {
  const { show } = context
  if (show.format !== 'table') await show.one<Outcome>(result, RESULT)
  const { isDryRun, doneCount } = result
  const past = doneCount === 1 ? words.one : words.many
  const text = peopleText(doneCount, result.done, isDryRun ? `would ${words.will}` : past)
  show.say(printable(`${text}.`))
  for (const line of plan?.(result) ?? []) show.say(printable(line))
  warnLost(context, result.approvalsLost, !isDryRun)
  sayRefused(context, result)
  const { triedCount, selectedCount } = result
  if (triedCount < selectedCount) show.say(`Tried ${triedCount} of ${selectedCount}.`)
  if (isDryRun) show.say('Dry run: nothing was changed.')
}

export function sayRefused(
  context: CommandContext,
  { refused, refusedCount }: RefusedMembers,
): void {
  for (const one of refused) context.show.say(printable(refusalLine(one)))
  sayRest(context, refused.length, refusedCount, 'fix these, then repeat the command for the rest')
}

export const runRetry = memberAction({
  verb: 'retry',
  words: are('retried'),
  fields: (flags) => fromStep(flags),
})
export const runRedo = memberAction({
  verb: 'retry',
  words: are('redone'),
  more: 'They repeat that step and all later ones.',
  fields: (flags) => {
    const step = textFlag(flags, 'fromStep')
    if (step !== undefined) return { fromStep: step, again: true }
    throw usageError('Name the first step to repeat: --from-step <name>.')
  },
})
export const runReadd = memberAction({
  verb: 'readd',
  words: are('added again'),
  more: 'They continue after the steps they had passed; those whose removal steps were sent start over.',
})
export const runMove = memberAction({
  verb: 'move',
  words: are('moved'),
  more: 'They keep data, outputs and passed steps; no removal steps run.',
  fields: async (flags, context, id) => {
    const to = textFlag(flags, 'to')
    if (to !== undefined) return { toBatchId: await findWave(context, to, id) }
    throw usageError('Name the wave to move to: --to <batch id or cut-over>.')
  },
})
export const runRollback = memberAction({
  verb: 'rollback',
  words: are('rolled back'),
  more: 'They end as failed; a retry can start them again.',
  fields: (flags) => {
    const phase = textFlag(flags, 'fromPhase')
    return { ...fromStep(flags), ...(phase !== undefined && { fromPhase: phase }) }
  },
  plan: rollbackLines,
})

/** The rollbacks in the order in which they run, and what they leave as it is. */
function rollbackLines(answer: Answer<EndpointOf<'rollback'>>): string[] {
  const steps = answer.rollbacks.map(({ rollback, rollsBack, runs, memberCount }) => {
    const who = countText(memberCount, 'person', 'people')
    return `  ${rollsBack.join(', ')}: rollback ${rollback} runs ${runs.join(', ')} (${who})`
  })
  const kept = answer.kept.map(({ step }) => step)
  if (kept.length > 0) steps.push(`  Without a rollback, so their effect stays: ${kept.join(', ')}`)
  return steps
}

export const runUndo = memberAction({
  verb: 'undo',
  words: are('taken back'),
  more: 'They take no part any more, and count as no failure; a retry takes them through again.',
  fields: (flags) => (flags.pastNoReturn ? { pastNoReturn: true } : {}),
  plan: undoLines,
})

/** The changes in the order in which they are undone, and what stays and why. */
function undoLines({ effects }: Answer<EndpointOf<'undo'>>): string[] {
  return effects.map(({ step, functionName, note, memberCount, state, isPointOfNoReturn }) => {
    const who = countText(memberCount, 'person', 'people')
    const by = state === 'to_undo' && functionName ? ` by ${functionName}` : ''
    const why = note ? `: ${note}` : ''
    const mark = isPointOfNoReturn ? ' The point of no return.' : ''
    return `  ${step} ${UNDO_WORDS[state]?.plan ?? state}${by} (${who})${why}${mark}`
  })
}

export const runRemove = memberAction({
  verb: 'remove',
  words: are('removed'),
  more: 'Their open steps are cancelled and removal steps run.',
})
export const runSkipMembers = memberAction({
  verb: 'skip',
  words: pass('skip the step', 'skipped the step'),
  fields: (flags) => stepFlag(flags),
})
export const runMarkMembersDone = memberAction({
  verb: 'skip',
  words: pass('get the step marked as done', 'got the step marked as done'),
  fields: (flags) => ({ ...stepFlag(flags), as: 'done' as const, outputs: outputsFrom(flags) }),
})
export const runSetVariable = memberAction({
  verb: 'variable',
  words: pass('get that variable', 'got that variable'),
  fields: (flags) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(textFlag(flags, 'set') ?? '') ?? []
    if (name !== undefined && value !== undefined) return { name, value }
    throw usageError('Name the variable: --set Name=value.')
  },
})

export const runHoldMembers = memberAction({
  verb: 'hold',
  words: are('held'),
  more: 'Nothing new is sent for them; running jobs finish.',
  plan: ({ withdrawnJobs, runningJobs, isDryRun }) =>
    isDryRun
      ? []
      : [
          `${countText(withdrawnJobs, 'job was', 'jobs were')} withdrawn; ${countText(runningJobs, 'job is', 'jobs are')} still running.`,
        ],
})
export const runResumeMembers = memberAction({
  verb: 'resume',
  words: are('resumed'),
  more: 'What another hold covers stays held.',
  plan: ({ startingSteps }) => [
    `At once: ${countText(startingSteps, 'step starts', 'steps start')}.`,
  ],
})

const stepFlag = (flags: Flags): { readonly step?: string } => {
  const step = textFlag(flags, 'step')
  return step === undefined ? {} : { step }
}

const fromStep = (flags: Flags): { readonly fromStep?: string } => {
  const step = textFlag(flags, 'fromStep')
  return step === undefined ? {} : { fromStep: step }
}
