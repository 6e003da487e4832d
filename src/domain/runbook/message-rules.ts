// Rules about messages to members: a step runs a function or sends a message; messages, languages and corrections that are named exist;
// every message has the default language; no secret is sent to anybody.

import { sameName } from '../../base/text/same-name.ts'
import { hintFor } from '../../base/text/spelling.ts'
import { FORMER_VARIABLES, START_VARIABLES } from '../member-messages/message-text.ts'
import {
  entriesAt,
  type MessageOutline,
  mapAt,
  messageNamed,
  messagesIn,
  type Outline,
  type StepOutline,
  scalarAt,
  textAt,
  textsOfMessage,
} from './outline.ts'
import type { Findings } from './problems.ts'
import { isSecretName, scanTemplate } from './template.ts'
import { REASONS } from './variables.ts'

/** A message has no parameters and no result, is sent once, and is no reason to undo anything. */
const WITHOUT_NOTIFY = ['function', 'params', 'output_params', 'poll', 'on_failure']

export function checkMessages(
  outline: Outline,
  steps: readonly StepOutline[],
  findings: Findings,
): void {
  for (const step of steps) checkStep(step, outline, findings)
  for (const { node, path } of outline.init) {
    const notify = node.entries.get('notify')
    const condition = 'on init steps: they have no member to tell'
    if (notify)
      findings.add('CONFLICTING_KEYS', notify.keySpan, `${path}.notify`, {
        key: 'notify',
        condition,
      })
  }
  const sent = namesSent(steps)
  const messages = messagesIn(outline.messages)
  const corrections = messages.flatMap(({ node }) => textAt(node, 'correction') ?? [])
  const used = new Set([...sent, ...corrections.map((name) => name.toLowerCase())])
  for (const message of messages) {
    checkMessage(message, outline, findings)
    checkTexts(message, sent, findings)
    const { keySpan } = mapAt(outline.messages, 'templates')!.entries.get(message.name)!
    if (!used.has(message.name.toLowerCase())) findings.add('UNUSED_MESSAGE', keySpan, message.path)
  }
}

const namesSent = (steps: readonly StepOutline[]): Set<string> =>
  new Set(
    steps.flatMap(({ node }) => textAt(mapAt(node, 'notify'), 'message')?.toLowerCase() ?? []),
  )

function checkStep({ node, path }: StepOutline, outline: Outline, findings: Findings): void {
  if (!node.entries.has('notify')) {
    if (!node.entries.has('function'))
      findings.add('MISSING_KEY', node, path, { place: 'A step', key: 'function' })
    return
  }
  for (const key of WITHOUT_NOTIFY) {
    const entry = node.entries.get(key)
    const condition = 'together with "notify"'
    if (entry) findings.add('CONFLICTING_KEYS', entry.keySpan, `${path}.${key}`, { key, condition })
  }
  const notify = mapAt(node, 'notify')
  const name = textAt(notify, 'message')
  if (name === null) return
  const at = scalarAt(notify, 'message')!
  const message = messageNamed(outline.messages, name)
  if (message) checkLanguage(message, notify!, `${path}.notify.language`, findings)
  else unknownMessage(name, outline, findings, at, `${path}.notify.message`)
}

function unknownMessage(
  name: string,
  { messages }: Outline,
  findings: Findings,
  at: Parameters<Findings['add']>[1],
  path: string,
): void {
  const known = messagesIn(messages).map((message) => message.name)
  findings.add('UNKNOWN_MESSAGE', at, path, () => ({
    name,
    hint: hintFor(name, known, 'There are') || 'Add it under "messages.templates".',
  }))
}

/** A language that the runbook's text names; one from a column falls back to the default. */
function checkLanguage(
  message: MessageOutline,
  notify: Parameters<typeof scalarAt>[0],
  path: string,
  findings: Findings,
): void {
  const at = scalarAt(notify, 'language')
  if (typeof at?.value !== 'string' || at.value.includes('{{')) return
  const language = at.value
  const known = languagesOf(message)
  if (known.some((one) => sameName(one, language))) return
  findings.add('UNKNOWN_LANGUAGE', at, path, () => ({
    message: message.name,
    language,
    hint: hintFor(language, known, 'There are'),
  }))
}

const languagesOf = ({ node }: MessageOutline): string[] =>
  entriesAt(node, 'texts').map(({ key }) => key)

function checkMessage(message: MessageOutline, outline: Outline, findings: Findings): void {
  const { node, path, name } = message
  const correction = textAt(node, 'correction')
  if (correction !== null && !messageNamed(outline.messages, correction))
    unknownMessage(
      correction,
      outline,
      findings,
      scalarAt(node, 'correction')!,
      `${path}.correction`,
    )
  const language = textAt(outline.messages, 'default_language')
  const texts = node.entries.get('texts')
  const known = languagesOf(message)
  if (!texts || language === null) return
  const seen = new Map<string, string>()
  for (const { key, keySpan } of entriesAt(node, 'texts')) {
    const first = seen.get(key.toLowerCase())
    seen.set(key.toLowerCase(), key)
    if (first !== undefined) {
      const { keySpan: former } = mapAt(node, 'texts')!.entries.get(first)!
      const details = { kind: 'language', name: key, first: findings.lineOf(former.start) }
      findings.add('DUPLICATE_NAME', keySpan, `${path}.texts.${key}`, details)
    }
  }
  if (!seen.has(language.toLowerCase()))
    findings.add('UNKNOWN_LANGUAGE', texts.keySpan, `${path}.texts`, () => ({
      message: name,
      language,
      hint: `It is the default language; add it. ${hintFor(language, known, 'There are')}`.trimEnd(),
    }))
}

/** Once for each message, however many steps send it. */
function checkTexts(message: MessageOutline, sent: ReadonlySet<string>, findings: Findings): void {
  const isSentFirst = sent.has(message.name.toLowerCase())
  for (const { node, text, path } of textsOfMessage(message, false)) {
    const { parts, faults } = scanTemplate(text)
    for (const { fault, text: piece } of faults)
      findings.add('TEMPLATE_SYNTAX', node, path, { piece, reason: REASONS[fault] })
    for (const part of parts) {
      if (typeof part !== 'object') continue
      const { name } = part
      if (isSecretName(name)) findings.add('SECRET_IN_MESSAGE', node, path, { name })
      else if (isSentFirst && (FORMER_VARIABLES as readonly string[]).includes(name.toLowerCase()))
        findings.add('UNKNOWN_VARIABLE', node, path, {
          name,
          place: 'in a message that a step sends',
          hint: `Only a correction knows it; use {{${START_VARIABLES[0]}}}.`,
        })
    }
  }
}
