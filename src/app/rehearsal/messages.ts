// The messages of a rehearsal: who would have been told what and when, in which language, how long the mailbox needs to send them, and who
// would not have been reached.

import { countText } from '../../base/text/count-text.ts'
import { durationText } from '../../base/text/duration.ts'
import type { Db } from '../../db/connection/db.ts'
import {
  listMessageExamples,
  listRehearsedMessages,
  listRehearsedPeople,
  type MessageExample,
  type RehearsedMessages,
} from '../../db/views/rehearsal.ts'
import { reachOf } from '../../domain/member-messages/reach.ts'
import type { Runbook } from '../../domain/runbook/model.ts'

/** Exchange Online accepts no more from a mailbox: docs/messages.md. */
const MAILS_PER_MIN = 30
const PEOPLE_NAMED = 10
const PEOPLE_PER_PAGE = 1_000

export interface SentMessages {
  readonly phase: string | null
  readonly step: string
  readonly message: string
  readonly language: string
  readonly sent: number
  readonly corrections: number
  readonly firstAt: string
  readonly lastAt: string
}

/** What one mailbox has to send at the start of a phase. */
export interface MailLoad {
  readonly batchId: number
  readonly phase: string | null
  readonly mails: number
  readonly takesSec: number
}

export interface NamedPeople {
  readonly count: number
  /** The first few. */
  readonly people: readonly string[]
}

export interface RehearsalMessages {
  /** Null: the runbook tells nobody anything. */
  readonly from: string | null
  readonly sent: readonly SentMessages[]
  readonly loads: readonly MailLoad[]
  readonly examples: readonly MessageExample[]
  readonly withoutAddress: NamedPeople
  readonly inDefaultLanguage: NamedPeople
}

/** `34 messages of phase announce of batch 1: takes 2 min at 30 a minute from migration@contoso.com`. */
export const loadText = (
  { batchId, phase, mails, takesSec }: MailLoad,
  { from }: Pick<RehearsalMessages, 'from'>,
): string =>
  `${countText(mails, 'message')} of ${phase === null ? 'removals' : `phase ${phase}`} of batch ${batchId}: takes ${durationText(takesSec * 1_000)} at ${MAILS_PER_MIN} a minute from ${from}`

/** `ada, ben and 3 more`. */
export const namesText = ({ count, people }: NamedPeople): string =>
  `${people.join(', ')}${count > people.length ? ` and ${count - people.length} more` : ''}`

/** What else is said of the messages: how long the mailbox sends, and who gets the default language. */
export const messageNotes = (messages: RehearsalMessages): string[] => {
  const { count } = messages.inDefaultLanguage
  return [
    ...messages.loads.map((load) => loadText(load, messages)),
    ...(count > 0
      ? [
          `${countText(count, 'member gets', 'members get')} the default language: ${namesText(messages.inDefaultLanguage)}`,
        ]
      : []),
  ]
}

/** `from`: what was sent before belongs to the past of a running batch. */
export async function rehearsedMessages(
  db: Db,
  runbook: Runbook,
  from: Date,
): Promise<RehearsalMessages> {
  const rows = await listRehearsedMessages(db, from)
  return {
    from: runbook.messages?.from ?? null,
    sent: sentOf(rows),
    loads: loadsOf(rows),
    examples: await listMessageExamples(db, from),
    ...(await unreached(db, runbook)),
  }
}

/** Over all batches. */
function sentOf(rows: readonly RehearsedMessages[]): SentMessages[] {
  const keyOf = ({ phase, step, message, language }: RehearsedMessages) =>
    JSON.stringify([phase, step, message, language])
  return [...Map.groupBy(rows, keyOf).values()].map((same) => {
    const { phase, step, message, language } = same[0]!
    const sum = (count: (one: RehearsedMessages) => number) =>
      same.reduce((total, one) => total + count(one), 0)
    const times = same.flatMap(({ firstAt, lastAt }) => [+firstAt, +lastAt])
    return {
      phase,
      step,
      message,
      language,
      sent: sum((one) => one.sent),
      corrections: sum((one) => one.corrections),
      firstAt: new Date(Math.min(...times)).toISOString(),
      lastAt: new Date(Math.max(...times)).toISOString(),
    }
  })
}

/** Corrections go out together as well, but at another time than the phase's own messages. */
function loadsOf(rows: readonly RehearsedMessages[]): MailLoad[] {
  const byPhase = Map.groupBy(rows, ({ batchId, phase }) => JSON.stringify([batchId, phase]))
  return [...byPhase.values()].map((same) => {
    const own = same.reduce((sum, { sent, corrections }) => sum + sent - corrections, 0)
    const corrections = same.reduce((sum, one) => sum + one.corrections, 0)
    const mails = Math.max(own, corrections)
    const { batchId, phase } = same[0]!
    return { batchId, phase, mails, takesSec: Math.ceil((mails * 60) / MAILS_PER_MIN) }
  })
}

async function unreached(
  db: Db,
  runbook: Runbook,
): Promise<Pick<RehearsalMessages, 'withoutAddress' | 'inDefaultLanguage'>> {
  const withoutAddress = new Named()
  const inDefaultLanguage = new Named()
  for (let after = 0; runbook.messages !== null; ) {
    const page = await listRehearsedPeople(db, after, PEOPLE_PER_PAGE)
    for (const person of page) {
      const { hasAddress, hasOwnLanguage } = reachOf(runbook, person)
      if (!hasAddress) withoutAddress.add(person.key)
      if (!hasOwnLanguage) inDefaultLanguage.add(person.key)
    }
    if (page.length < PEOPLE_PER_PAGE) break
    after = page.at(-1)!.id
  }
  return { withoutAddress: { ...withoutAddress }, inDefaultLanguage: { ...inDefaultLanguage } }
}

class Named implements NamedPeople {
  count = 0
  readonly people: string[] = []
  add(key: string): void {
    this.count += 1
    if (this.people.length < PEOPLE_NAMED) this.people.push(key)
  }
}
