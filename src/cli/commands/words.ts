// Statuses and events in the words of people, for tables. JSON, YAML and CSV keep the API's names, and a filter takes both.

import type { Entity } from '../../domain/state/transitions.ts'
import { statusWord } from '../../domain/state/words.ts'
import type { LiveEvent } from '../connection/event-stream.ts'
import type { Column, ColumnValue } from '../terminal/show.ts'

/** A status, in words in a table. */
export const statusIn = <R>(entity: Entity, value: ColumnValue<R>): Column<R>[1] => ({
  value,
  say: (status) => (typeof status === 'string' ? statusWord(entity, status) : null),
})

/** The new status of an event, in words in a table. */
export const EVENT_TO: Column<Pick<LiveEvent, 'entity' | 'toStatus'>> = [
  'TO',
  {
    value: 'toStatus',
    say: (_, { entity, toStatus }) =>
      toStatus === null ? null : statusWord(entity as Entity, toStatus),
  },
  'spare',
]
