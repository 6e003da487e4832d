// A message to a person: chooses the language, fills in the texts, and names the parameters of the function that sends it. Values are
// inserted as text; in an HTML body they are escaped, and in a subject line breaks become blanks: a person's data adds no markup, no
// header and no template. The times of the batch are written as the language writes them.
import type { Json } from '../../base/text/json.ts'
import { escapeHtml } from '../../base/text/markup.ts'
import { nearest } from '../../base/text/spelling.ts'
import type { Notify, RunbookMessage, RunbookMessages } from '../runbook/model.ts'
import {
  holdsMark,
  insertedText,
  type MissingName,
  resolveTemplates,
  type Scope,
  scanTemplate,
} from '../runbook/template.ts'

/** The function that sends; workers have it among their standard ones. */
export const SEND_MESSAGE = 'Send-Message'

/** Known in messages besides the step's variables. The last two only in a correction. */
export const START_VARIABLES = ['_start_date', '_start_time'] as const
export const FORMER_VARIABLES = ['_former_date', '_former_time'] as const

const SUBJECT_CHARS_MAX = 255

/** What a message is about besides the member's variables. */
export interface MessageFacts {
  readonly scope: Scope
  readonly startTime: Date | null
  /** The start time that the person was told and that is no longer true: the message is its correction. */
  readonly correctsTime: Date | null
  /** Names this message, whatever the attempt. */
  readonly messageId: string
}

/** Where a name without a value stands. */
type MessagePart = 'to' | 'language' | 'subject' | 'body'

/** A message as its person gets it. Names without a value stay in the texts as they are written, and are listed. */
export interface ComposedMessage {
  readonly message: RunbookMessage
  readonly to: Json
  /** What the step asks for; null when it asks for none, or the member has none. */
  readonly askedLanguage: string | null
  readonly language: string
  readonly subject: string
  readonly body: string
  readonly missing: readonly (MissingName & { readonly part: MessagePart })[]
}

export type Rendered<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly missing: readonly MissingName[] }

/** The text's language: as asked, `de` for `de-AT`, else the default of the runbook. */
function languageFor(
  { texts }: RunbookMessage,
  asked: string | null,
  defaultLanguage: string,
): string {
  const wanted = tagOf(asked)
  const primary = wanted.split('-', 1)[0]!
  return [wanted, primary].find((language) => texts.has(language)) ?? defaultLanguage
}

/** The message that a step sends, filled in; its correction when the person was told another time. `language` is instead of the step's. */
export function composeMessage(
  messages: RunbookMessages,
  notify: Notify,
  facts: Omit<MessageFacts, 'messageId'>,
  language: string | null = null,
): ComposedMessage {
  const missing: (MissingName & { part: MessagePart })[] = []
  const lookUp = (part: MessagePart, template: string | null): Json => {
    const found = resolveTemplates(template, facts.scope)
    if (found.ok) return found.value
    for (const one of found.missing) missing.push({ ...one, part })
    return null
  }
  const to = lookUp('to', notify.to)
  const wanted = language ?? lookUp('language', notify.language)
  const askedLanguage = typeof wanted === 'string' && wanted.trim() !== '' ? wanted : null
  const message = messageToSend(messages, notify, facts.correctsTime !== null)
  const chosen = languageFor(message, askedLanguage, messages.defaultLanguage)
  const text = message.texts.get(chosen)!
  const scope = withTimes(facts, chosen, messages.timeZone)
  const fill = (part: MessagePart, template: string, shown: (value: string) => string) =>
    filled(template, scope, shown, (name) => missing.push({ ...name, part }))
  const subject = fill('subject', text.subject, plain).replaceAll(/\s+/g, ' ').trim()
  const body = fill('body', text.body, message.isHtml ? escapeHtml : plain)
  return {
    message,
    to,
    askedLanguage,
    language: chosen,
    body,
    missing,
    subject: subject.slice(0, SUBJECT_CHARS_MAX),
  }
}

/** The default language, for want of the one that the person has, or because nobody knows it. */
export function isFallback({ askedLanguage, language }: ComposedMessage): boolean {
  const asked = tagOf(askedLanguage)
  return asked !== language && asked.split('-', 1)[0] !== language
}

/** What a mailbox may be called, and no more: the worker decides. */
export const isMailAddress = (to: Json): boolean =>
  typeof to === 'string' && /^[^\s@]+@[^\s@]+$/.test(to.trim())

/** `de-at` for `de_AT`. */
export const tagOf = (language: string | null): string =>
  (language ?? '').trim().toLowerCase().replaceAll('_', '-')

/** The parameters of `Send-Message` for a step. */
export function messageParams(
  messages: RunbookMessages,
  notify: Notify,
  facts: MessageFacts,
): Rendered<{ [name: string]: Json }> {
  const { message, to, language, subject, body, missing } = composeMessage(messages, notify, facts)
  if (missing.length > 0) return { ok: false, missing }
  return {
    ok: true,
    value: {
      MessageId: facts.messageId,
      Message: message.name,
      Language: language,
      From: messages.from,
      To: to,
      Subject: subject,
      Body: body,
      ContentType: message.isHtml ? 'HTML' : 'Text',
      StartTime: facts.startTime?.toISOString() ?? null,
      CorrectsTime: facts.correctsTime?.toISOString() ?? null,
      // A correction tells the time as much as the message that it corrects.
      TellsTime: messages.templates.get(notify.message)!.correction !== null,
    },
  }
}

function messageToSend(
  { templates }: RunbookMessages,
  notify: Notify,
  isCorrection: boolean,
): RunbookMessage {
  const first = templates.get(notify.message)!
  return isCorrection && first.correction !== null ? templates.get(first.correction)! : first
}

function filled(
  template: string,
  scope: Scope,
  shown: (value: string) => string,
  onMissing: (name: MissingName) => void,
): string {
  let out = ''
  const { parts, faults } = scanTemplate(template)
  for (const { text } of faults) onMissing({ name: text, nearest: null })
  for (const part of parts) {
    if (typeof part === 'string') out += part
    else {
      const value = scope.lookup(part.name)
      if (value !== undefined && !holdsMark(value)) out += shown(insertedText(value))
      else {
        onMissing({ name: part.name, nearest: nearest(part.name, scope.names()) })
        out += shown(`{{${part.name}}}`)
      }
    }
  }
  return out
}

const plain = (value: string): string => value

function withTimes(
  { scope, startTime, correctsTime }: Omit<MessageFacts, 'messageId'>,
  language: string,
  timeZone: string,
): Scope {
  const times: Readonly<Record<string, Json>> = {
    _start_date: startTime && dateIn(startTime, language, timeZone),
    _start_time: startTime && timeIn(startTime, language, timeZone),
    ...(correctsTime && {
      _former_date: dateIn(correctsTime, language, timeZone),
      _former_time: timeIn(correctsTime, language, timeZone),
    }),
  }
  return {
    lookup: (name) => {
      const known = name.trim().toLowerCase()
      return Object.hasOwn(times, known) ? times[known] : scope.lookup(name)
    },
    *names() {
      yield* Object.keys(times)
      yield* scope.names()
    },
  }
}

/** "Friday, 1 March 2030", "Freitag, 1. März 2030". */
export const dateIn = (at: Date, language: string, timeZone: string): string =>
  formatOf(language, timeZone, 'date').format(at)

/** "23:00 CET", "23:00 MEZ". */
export const timeIn = (at: Date, language: string, timeZone: string): string =>
  formatOf(language, timeZone, 'time').format(at)

const FORMATS = {
  date: { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' },
  time: { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
} as const
const formats = new Map<string, Intl.DateTimeFormat>()

/** Making a format takes a hundred times as long as using it. There are as many as runbooks have languages and zones. */
function formatOf(
  language: string,
  timeZone: string,
  kind: keyof typeof FORMATS,
): Intl.DateTimeFormat {
  const key = `${language} ${timeZone} ${kind}`
  const known = formats.get(key)
  if (known) return known
  if (formats.size >= FORMATS_MAX) formats.clear()
  // English without a country: British order and 24 hours; nobody mistakes 11:00 for the night.
  const locale = language === 'en' ? 'en-GB' : language
  const made = new Intl.DateTimeFormat(locale, { timeZone, ...FORMATS[kind] })
  formats.set(key, made)
  return made
}
const FORMATS_MAX = 1_000
