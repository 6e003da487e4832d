// `matoolkit batch retry`, `redo`, `readd-member`, `set-variable` …: actions on one or many members. A dry run names the people, a
// person confirms, and the request carries their number: a selection that changed in between is refused.

import { EXIT, MatoolkitError } from '../../../base/errors/errors.ts'
import { countText } from '../../../base/text/count-text.ts'
import type { Json } from '../../../base/text/json.ts'
import { printable } from '../../../base/text/printable.ts'
import { UNDO_WORDS, type UndoState } from '../../../domain/state/undo-states.ts'
import { statusWord } from '../../../domain/state/words.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  sayRest,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD, type Row, rowsIn } from '../../terminal/show.ts'
import { outputsFrom } from './outputs.ts'
import { batchPath } from './paths.ts'
import { selectPeople } from './select-people.ts'
import { failOnFailedPhase, waitUntilIdle } from './wait.ts'

/** Members that were refused, and why. The API lists the first ones. */
export interface RefusedMembers {
  readonly refusedCount: number
  readonly refused: readonly {
    readonly memberId: number
    readonly memberKey?: string
    readonly reason: string
  }[]
}

interface Named {
  readonly memberKey: string
}

interface MemberActionResult extends RefusedMembers {
  readonly selectedCount: number
  readonly selected: readonly Named[]
  readonly triedCount: number
  readonly doneCount: number
  readonly done: readonly Named[]
  readonly isDryRun: boolean
}

/** For CSV; people read sentences. */
const RESULT: readonly Column[] = [
  ['batch', 'batchId'],
  ['selected', 'selectedCount'],
  // A dry run tries only part of a large selection, and a stopping server leaves members untried.
  ['tried', ({ triedCount, selectedCount }) => (triedCount === selectedCount ? null : triedCount)],
  ['done', 'doneCount'],
  ['refused', 'refusedCount'],
  DRY_RUN_FIELD,
]

interface MemberAction {
  /** The last part of the path. */
  readonly verb: string
  /** What happens to the people: after `will` and `would`, and as it has happened to one or many. */
  readonly words: { readonly will: string; readonly one: string; readonly many: string }
  /** More about it, a sentence. */
  readonly more?: string
  readonly fields?: (flags: Flags) => Record<string, Json>
  /** What the answer says besides the people, as lines. */
  readonly plan?: (answer: Row) => string[]
}

const are = (participle: string): MemberAction['words'] => ({
  will: `be ${participle}`,
  one: `was ${participle}`,
  many: `were ${participle}`,
})
const pass = (verb: string, past: string): MemberAction['words'] => ({
  will: verb,
  one: past,
  many: past,
})

/** `1 person will be retried: ada`, `12 people were skipped: ada, ben … and 2 more`. */
function peopleText(count: number, named: readonly Named[], what: string): string {
  const names = named.slice(0, NAMED_MAX).map(({ memberKey }) => memberKey)
  const more = count > names.length ? ` and ${count - names.length} more` : ''
  const list = names.length > 0 ? `: ${names.join(', ')}${more}` : ''
  return `${countText(count, 'person', 'people')} ${what}${list}`
}

const NAMED_MAX = 10

const memberAction =
  (action: MemberAction) =>
  async (
    context: CommandContext,
    [id, ...people]: readonly string[],
    flags: Flags,
  ): Promise<void> => {
    const path = `${batchPath(id)}/members/${action.verb}`
    const { select, isNamed } = await selectPeople(context, id!, people, flags)
    const fields = action.fields?.(flags) ?? {}
    const reason =
      textFlag(flags, 'reason') ?? (flags.dryRun ? 'dry run' : await askReason(context))
    const request = { select, reason, ...fields }
    const { client, io } = context
    const tried = await client.post<MemberActionResult>(path, {
      body: { ...request, dryRun: true },
    })
    const { selectedCount: members } = tried.body
    if (flags.dryRun) return showResult(context, tried.body, action)
    const allOrNothing = isNamed && !flags.partial
    requireSomebody(tried.body, id!, allOrNothing)
    await confirm(context, { what: questionOf(tried.body, action), members })
    const body = { ...request, allOrNothing, expectedCount: members }
    const done = await client.post<MemberActionResult>(path, { body })
    await showResult(context, done.body, action)
    const { refusedCount, triedCount } = done.body
    if (refusedCount > 0 || triedCount < members) io.exitCode = EXIT.failed
    if (flags.wait) await waitForEnd(context, id!)
  }

function questionOf(tried: MemberActionResult, { words, more, plan }: MemberAction): string {
  const { selectedCount, selected, refusedCount, refused } = tried
  const out = new Set(refused.map(({ memberKey }) => memberKey))
  const willBe = selected.filter(({ memberKey }) => !out.has(memberKey))
  const lines = [`${peopleText(selectedCount - refusedCount, willBe, `will ${words.will}`)}.`]
  if (more) lines.push(more)
  lines.push(...(plan?.(tried as unknown as Row) ?? []))
  return [...lines, ...refused.slice(0, NAMED_MAX).map(refusalLine)].join('\n')
}

const refusalLine = ({ memberId, memberKey, reason }: RefusedMembers['refused'][number]): string =>
  `  ${memberKey ?? `member ${memberId}`} is refused: ${reason}`

/** Names people who cannot be changed: all or nobody. A filter may leave some out, but never everybody. */
function requireSomebody(
  { selectedCount, refusedCount, refused, triedCount }: MemberActionResult,
  id: string,
  allOrNothing: boolean,
): void {
  if (selectedCount === 0)
    throw new MatoolkitError('REFUSED', { reason: `No member of batch ${id} matches.` })
  const isEverybody = refusedCount === triedCount && triedCount === selectedCount
  if (refusedCount === 0 || !(allOrNothing || isEverybody)) return
  const lines = refused.slice(0, NAMED_MAX).map((one) => `\n${refusalLine(one)}`)
  const rest = isEverybody ? '' : '\nLeave them out, or use --partial for the others.'
  const reason = `Nobody was changed: ${refusedCount} of ${countText(selectedCount, 'person', 'people')} refused.${lines.join('')}${rest}`
  throw new MatoolkitError('REFUSED', { reason: printable(reason) })
}

async function waitForEnd(context: CommandContext, id: string): Promise<void> {
  const page = await waitUntilIdle(context, id)
  context.show.say(`Batch ${id} is ${statusWord('batch', String((page.batch as Row).status))}.`)
  failOnFailedPhase(context, page)
}

async function showResult(
  context: CommandContext,
  result: MemberActionResult,
  { words, plan }: MemberAction,
): Promise<void> {
  const { show } = context
  if (show.format !== 'table') await show.one(result as unknown as Json, RESULT)
  const { isDryRun, doneCount } = result
  const past = doneCount === 1 ? words.one : words.many
  const text = peopleText(doneCount, result.done, isDryRun ? `would ${words.will}` : past)
  show.say(printable(`${text}.`))
  for (const line of plan?.(result as unknown as Row) ?? []) show.say(printable(line))
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
  verb: 'redo',
  words: are('redone'),
  more: 'They repeat that step and all later ones.',
  fields: (flags) => {
    if (flags.fromStep) return fromStep(flags)
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
  fields: (flags) => {
    if (flags.to) return { toBatchId: idOf('batch', textFlag(flags, 'to')) }
    throw usageError('Name the batch to move to: --to <batch id>.')
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
function rollbackLines(answer: Row): string[] {
  const steps = rowsIn(answer, 'rollbacks').map(({ rollback, rollsBack, runs, memberCount }) => {
    const who = countText(Number(memberCount), 'person', 'people')
    return `  ${(rollsBack as string[]).join(', ')}: rollback ${String(rollback)} runs ${(runs as string[]).join(', ')} (${who})`
  })
  const kept = rowsIn(answer, 'kept').map(({ step }) => String(step))
  if (kept.length > 0) steps.push(`  Without a rollback, so their effect stays: ${kept.join(', ')}`)
  return steps
}

export const runUndo = memberAction({
  verb: 'undo',
  words: are('undone'),
  more: 'They end as failed; a retry can start them again.',
  fields: (flags) => (flags.pastNoReturn ? { pastNoReturn: true } : {}),
  plan: undoLines,
})

/** The changes in the order in which they are undone, and what stays and why. */
function undoLines(answer: Row): string[] {
  return rowsIn(answer, 'effects').map((effect) => {
    const { step, functionName, note, memberCount } = effect
    const state = String(effect.state) as UndoState
    const who = countText(Number(memberCount), 'person', 'people')
    const by = state === 'to_undo' && functionName ? ` by ${String(functionName)}` : ''
    const why = note ? `: ${String(note)}` : ''
    const mark = effect.isPointOfNoReturn ? ' The point of no return.' : ''
    return `  ${String(step)} ${UNDO_WORDS[state]?.plan ?? state}${by} (${who})${why}${mark}`
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
  verb: 'done',
  words: pass('get the step marked as done', 'got the step marked as done'),
  fields: (flags) => ({ ...stepFlag(flags), outputs: outputsFrom(flags) }),
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
    isDryRun || withdrawnJobs === undefined
      ? []
      : [
          `${countText(Number(withdrawnJobs), 'job was', 'jobs were')} withdrawn; ${countText(Number(runningJobs), 'job is', 'jobs are')} still running.`,
        ],
})
export const runResumeMembers = memberAction({
  verb: 'resume',
  words: are('resumed'),
  more: 'What another hold covers stays held.',
  plan: ({ startingSteps }) => [
    `At once: ${countText(Number(startingSteps), 'step starts', 'steps start')}.`,
  ],
})

const stepFlag = (flags: Flags): Record<string, Json> => {
  const step = textFlag(flags, 'step')
  return step === undefined ? {} : { step }
}

const fromStep = (flags: Flags): Record<string, Json> => {
  const step = textFlag(flags, 'fromStep')
  return step === undefined ? {} : { fromStep: step }
}
