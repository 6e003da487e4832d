// Statuses and events in the words of people, for tables. JSON, YAML and CSV keep the API's names, and a filter takes both.
import type { Entity } from '../../domain/state/transitions.ts'
import { statusWord } from '../../domain/state/words.ts'
import type { Column, ColumnValue } from '../terminal/show.ts'

/** A status, in words in a table. */
export const statusIn = (entity: Entity, value: ColumnValue): Column[1] => ({
  value,
  say: (status) => (status === null ? null : statusWord(entity, String(status))),
})

/** The new status of an event, in words in a table. */
export const EVENT_TO: Column = [
  'TO',
  {
    value: 'toStatus',
    say: (status, { entity }) =>
      status === null ? null : statusWord(entity as Entity, String(status)),
  },
  'spare',
]
