// Who would have been told what, and when: conditions by kind, and the messages of each channel. Pure, like the report that it is part of.

import { countText } from '../../base/text/count-text.ts'
import type { RehearsedCondition, RehearsedNotification } from '../../db/views/rehearsal.ts'
import { CONDITION_KINDS, type ConditionKind } from '../../domain/notifications/conditions.ts'
import type { NotificationSettings } from '../../domain/notifications/rules.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import { EVERYBODY } from './notifications.ts'

export interface NotificationFacts {
  readonly conditions: readonly RehearsedCondition[]
  readonly messages: readonly RehearsedNotification[]
  /** Null: only the runbook's rules are known. */
  readonly settings: NotificationSettings | null
}

export interface RehearsedKind {
  readonly kind: ConditionKind
  readonly opened: number
  /** Null for endings, which are told once. */
  readonly cleared: number | null
  readonly firstAt: string
  /** The first one. */
  readonly example: string
  /** Empty: nobody. */
  readonly channels: readonly string[]
  /** That no channel would have heard of. */
  readonly untold: number
}

export interface NotifiedChannel {
  readonly channel: string
  readonly messages: number
  readonly firstAt: string
  readonly lastAt: string
}

export interface RehearsedNotificationReport {
  /** Whether the rules of a settings file counted too. */
  readonly hasSettings: boolean
  readonly conditions: readonly RehearsedKind[]
  readonly channels: readonly NotifiedChannel[]
  /** The first ones; none was sent. */
  readonly messages: readonly {
    /** When it would have left: after quiet hours and digests. */
    readonly dueAt: string
    readonly channel: string
    readonly says: readonly string[]
  }[]
  readonly warnings: readonly string[]
}

const MESSAGES_SHOWN = 100
const ITEMS_SHOWN = 10

export function notificationReportOf(
  { conditions, messages, settings }: NotificationFacts,
  runbook: Runbook,
): RehearsedNotificationReport {
  const told = conditions.map((one) => ({
    ...one,
    channels: one.channels.filter((name) => name !== EVERYBODY),
  }))
  const real = messages.filter(({ channel }) => channel !== EVERYBODY)
  const kinds = CONDITION_KINDS.flatMap((kind) => kindOf(told.filter((one) => one.kind === kind)))
  return {
    hasSettings: settings !== null,
    conditions: kinds,
    channels: [...Map.groupBy(real, ({ channel }) => channel)].map(([channel, all]) => ({
      channel,
      messages: all.length,
      firstAt: all[0]!.dueAt.toISOString(),
      lastAt: all.at(-1)!.dueAt.toISOString(),
    })),
    messages: real.slice(0, MESSAGES_SHOWN).map(({ dueAt, channel, items, leftOut }) => ({
      dueAt: dueAt.toISOString(),
      channel,
      says: [
        ...items
          .slice(0, ITEMS_SHOWN)
          .map(({ state, title }) => (state === 'cleared' ? `Cleared: ${title}` : title)),
        ...moreText(items.length + leftOut - ITEMS_SHOWN),
      ],
    })),
    warnings: warningsOf(kinds, runbook, settings),
  }
}

const moreText = (count: number): string[] => (count > 0 ? [`and ${count} more`] : [])

function kindOf(all: readonly RehearsedCondition[]): RehearsedKind[] {
  const [first] = all
  if (!first) return []
  return [
    {
      kind: first.kind,
      opened: all.length,
      cleared: first.isEnding ? null : all.filter(({ clearedAt }) => clearedAt !== null).length,
      firstAt: first.openedAt.toISOString(),
      example: `${first.title}. ${first.text}`,
      channels: [...new Set(all.flatMap(({ channels }) => channels))],
      untold: all.filter(({ channels }) => channels.length === 0).length,
    },
  ]
}

/** Only for those who have set up notifications: a rule is missing, or leads nowhere. */
function warningsOf(
  kinds: readonly RehearsedKind[],
  { notifications }: Runbook,
  settings: NotificationSettings | null,
): string[] {
  const hasRules = notifications.length > 0 || (settings?.rules.length ?? 0) > 0
  const named = new Set(notifications.flatMap(({ channels }) => channels))
  const known = settings?.channels.map(({ name }) => name) ?? [...named]
  return [
    ...(hasRules
      ? kinds
          .filter(({ untold, cleared }) => untold > 0 && cleared !== null)
          .map(
            ({ kind, untold, example }) =>
              `No one would have been told ${countText(untold, 'time')} of ${kind}, for example: ${example}. No rule names it.`,
          )
      : []),
    ...[...named]
      .filter((name) => !known.includes(name))
      .map((name) => `Channel ${name} of the runbook is not in the settings: no one hears it.`),
  ]
}
