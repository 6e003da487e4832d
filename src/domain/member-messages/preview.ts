// A message as a person would get it, before anything is sent: made by the function that also makes what is sent. Says which language was
// chosen and why, and where a value is missing, with line and column of the runbook.

import type { Json } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'
import { hintFor } from '../../base/text/spelling.ts'
import type { SampleMember } from '../plan/run-plan.ts'
import { readDocument } from '../runbook/document.ts'
import type { Notify, Runbook, RunbookMessages } from '../runbook/model.ts'
import {
  mapAt,
  messageNamed,
  outlinedSteps,
  outlineOf,
  type StepOutline,
  scalarAt,
  textsOfMessage,
} from '../runbook/outline.ts'
import type { RunbookProblem } from '../runbook/problems.ts'
import { stepLists, stepsOf } from '../runbook/steps.ts'
import { insertedText, scopeOf } from '../runbook/template.ts'
import type { ScalarNode } from '../runbook/tree.ts'
import { SAMPLE_KEY } from '../state/member-columns.ts'
import {
  type ComposedMessage,
  composeMessage,
  dateIn,
  isFallback,
  isMailAddress,
  tagOf,
  timeIn,
} from './message-text.ts'

const WEEK_MS = 7 * 24 * 60 * 60_000

export interface PreviewFacts {
  readonly runbook: Runbook
  /** The runbook's text. */
  readonly yaml: string
  /** Name of the message; null: the first that a step sends. */
  readonly message: string | null
  /** Instead of the one that the step asks for. */
  readonly language: string | null
  readonly member: SampleMember
  readonly batchId: number | null
  readonly batchOutputs: Readonly<Record<string, Json>>
  /** Null when nobody knows it yet. */
  readonly startTime: Date | null
  /** The start that the person was told before, for a correction. Null: a week earlier. */
  readonly formerTime: Date | null
}

export interface MessagePreview {
  readonly message: string
  /** All that a step sends or a correction names, in the order of the runbook. */
  readonly messages: readonly string[]
  /** It goes only to people who were told another time. */
  readonly isCorrection: boolean
  /** The step that sends it; null for a message that no step sends. */
  readonly phaseName: string | null
  readonly stepName: string | null
  readonly memberKey: string
  /** A made-up member, from the sample row of the member file. */
  readonly isSample: boolean
  readonly from: string
  readonly to: string
  readonly language: string
  /** Languages that the message has. */
  readonly languages: readonly string[]
  readonly isFallback: boolean
  readonly languageBecause: string
  readonly startTime: Date | null
  readonly startText: string | null
  readonly formerTime: Date | null
  readonly formerText: string | null
  readonly subject: string
  readonly body: string
  readonly isHtml: boolean
  /** Nothing would be sent: the step fails. */
  readonly problems: readonly Pick<
    RunbookProblem,
    'code' | 'line' | 'column' | 'path' | 'message'
  >[]
  readonly warnings: readonly string[]
}

interface Sender {
  readonly phaseName: string | null
  readonly stepName: string
  readonly notify: Notify
  readonly isCorrection: boolean
}

const messageNames = (runbook: Runbook): string[] =>
  [...(runbook.messages?.templates.values() ?? [])]
    .map(({ name }) => name)
    .filter((name) => senderOf(runbook, name.toLowerCase()) !== null)

/** Or why there is no such message. */
export function previewMessage(facts: PreviewFacts): MessagePreview | { readonly unknown: string } {
  const { runbook, startTime } = facts
  const { messages } = runbook
  const name = (facts.message ?? messageNames(runbook)[0] ?? '').toLowerCase()
  const found = messages?.templates.get(name)
  const sender = found && senderOf(runbook, name)
  if (!messages || !found || !sender) return { unknown: unknownText(runbook, name) }
  if (sender.isCorrection && startTime === null)
    return { unknown: 'It is a correction, and a batch without a start time has none.' }
  const formerTime = sender.isCorrection ? formerTimeOf(facts) : null
  const scope = scopeOf([
    {
      _batch_id: facts.batchId ?? '<id of the batch>',
      _batch_start_time: startTime?.toISOString() ?? null,
    },
    facts.member.outputs,
    facts.batchOutputs,
    promisedBy(runbook),
    facts.member.data,
  ])
  const composed = composeMessage(
    messages,
    sender.notify,
    { scope, startTime, correctsTime: formerTime },
    facts.language,
  )
  const { language, to, subject, body } = composed
  const momentText = (at: Date | null) =>
    at && `${dateIn(at, language, messages.timeZone)}, ${timeIn(at, language, messages.timeZone)}`
  return {
    message: found.name,
    messages: messageNames(runbook),
    isCorrection: sender.isCorrection,
    phaseName: sender.phaseName,
    stepName: sender.stepName,
    memberKey: facts.member.key,
    isSample: facts.member.key === SAMPLE_KEY,
    from: messages.from,
    to: insertedText(to),
    ...languageChoice(facts, composed, messages),
    startTime,
    startText: momentText(startTime),
    formerTime,
    formerText: momentText(formerTime),
    subject,
    body,
    isHtml: composed.message.isHtml,
    problems: problemsOf(facts.yaml, sender, composed),
    warnings: warningsOf(composed, facts),
  }
}

function unknownText(runbook: Runbook, name: string): string {
  const names = messageNames(runbook)
  if (names.length === 0) return 'No step of the runbook sends a message.'
  if (runbook.messages!.templates.has(name))
    return 'No step sends it, and it corrects no message that one sends.'
  return hintFor(name, names, 'There are')
}

/** The first step that sends the message, in the order of time; else the first whose message it corrects. */
function senderOf(runbook: Runbook, name: string): Sender | null {
  const { templates } = runbook.messages!
  const senders = stepLists(runbook).flatMap(({ kind, name: place, steps }) =>
    steps.flatMap(({ name: stepName, notify }) =>
      notify ? [{ phaseName: kind === 'phase' ? place : null, stepName, notify }] : [],
    ),
  )
  const own = senders.find(({ notify }) => notify.message === name)
  if (own) return { ...own, isCorrection: false }
  const first = senders.find(({ notify }) => templates.get(notify.message)!.correction === name)
  return first ? { ...first, isCorrection: true } : null
}

/** One that differs from the start, so that a correction reads as it will. */
function formerTimeOf({ formerTime, startTime }: PreviewFacts): Date | null {
  if (formerTime !== null && +formerTime !== +(startTime ?? 0)) return formerTime
  return startTime && new Date(+startTime - WEEK_MS)
}

/** Outputs of steps that have not run yet. */
function promisedBy(runbook: Runbook): Record<string, Json> {
  const steps = stepsOf(runbook, 'init', 'phase')
  return Object.fromEntries(
    steps.flatMap(({ name, outputParams }) =>
      Object.keys(outputParams).map((variable) => [variable, `<${variable} from ${name}>`]),
    ),
  )
}

function languageChoice(
  { language: chosenHere }: PreviewFacts,
  composed: ComposedMessage,
  { defaultLanguage }: RunbookMessages,
): Pick<MessagePreview, 'language' | 'languages' | 'isFallback' | 'languageBecause'> {
  const { message, askedLanguage, language } = composed
  const asker = chosenHere === null ? 'the step asks for' : 'the preview asks for'
  const choice = {
    language,
    languages: [...message.texts.keys()],
    isFallback: isFallback(composed),
  }
  const because = (languageBecause: string) => ({ ...choice, languageBecause })
  if (askedLanguage === null)
    return because(`nothing names a language, and ${defaultLanguage} is the default`)
  if (tagOf(askedLanguage) === language) return because(`${asker} it`)
  return choice.isFallback
    ? because(
        `${asker} "${askedLanguage}", which the message does not have, and ${defaultLanguage} is the default`,
      )
    : because(`${asker} "${askedLanguage}", and the message has ${language}`)
}

function warningsOf({ to, subject, body, missing }: ComposedMessage, { startTime }: PreviewFacts) {
  const isKnown = !missing.some(({ part }) => part === 'to')
  return [
    ...(isKnown && !isMailAddress(to)
      ? [`"${insertedText(to)}" is not an address: nothing can be sent.`]
      : []),
    ...(subject === '' ? ['The subject is empty: nothing can be sent.'] : []),
    ...(body.trim() === '' ? ['The body is empty: nothing can be sent.'] : []),
    ...(startTime === null ? ['The start is not known yet: dates and times are empty.'] : []),
  ]
}

/** Names without a value, each where it stands in the text. */
function problemsOf(
  yaml: string,
  sender: Sender,
  { message, language, missing }: ComposedMessage,
): RunbookProblem[] {
  if (missing.length === 0) return []
  const { root, findings, text } = readDocument(yaml)
  if (root?.kind !== 'map') return []
  const outline = outlineOf(root)
  const own = messageNamed(outline.messages, message.name)
  const texts = own ? textsOfMessage(own, sender.isCorrection) : []
  const steps = outlinedSteps(outline)
  for (const { name, nearest, part } of missing) {
    const place =
      part === 'to' || part === 'language'
        ? placeInStep(steps, sender, part)
        : texts.find(({ path }) => path.toLowerCase().endsWith(`.texts.${language}.${part}`))
    if (!place) continue
    const hint = nearest === null ? '' : `Did you mean {{${nearest}}}?`
    const details = { name, place: 'for this member', hint }
    findings.add('UNKNOWN_VARIABLE', spanOf(text, place.node, name), place.path, details)
  }
  return findings.problems.filter(({ code }) => code === 'UNKNOWN_VARIABLE')
}

function placeInStep(
  steps: readonly StepOutline[],
  { stepName }: Sender,
  part: 'to' | 'language',
): { node: ScalarNode; path: string } | undefined {
  for (const { node, name, path } of steps) {
    const at = scalarAt(mapAt(node, 'notify'), part)
    if (at && sameName(name, stepName)) return { node: at, path: `${path}.notify.${part}` }
  }
  return undefined
}

/** The name itself where it is written as it is meant, else the whole text. */
function spanOf(text: string, { start, end }: ScalarNode, name: string) {
  const written = text.slice(start, end)
  const at = [...written.matchAll(/\{\{([^{}]*)\}\}/g)].find(([, inner]) => inner!.trim() === name)
  return at ? { start: start + at.index, end: start + at.index + at[0].length } : { start, end }
}
