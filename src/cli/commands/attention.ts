// What waits for a person, as lines with the command that decides it.

import type { RequestOf } from '../../api/client/endpoints.ts'
import { printable } from '../../base/text/printable.ts'
import { attentionText, type DescribedAttention } from '../../domain/needs/attention.ts'
import type { CommandContext } from '../program/command-context.ts'

const LINES_MAX = 10

const timeOf = (text: string | null): Date | null => (text === null ? null : new Date(text))

export async function loadItems(
  { client }: Pick<CommandContext, 'client'>,
  query: NonNullable<RequestOf<'GET /api/attention'>['query']> = {},
): Promise<DescribedAttention[]> {
  const { items } = await client.call('GET /api/attention', { query })
  return items.map((item) => ({
    ...item,
    since: timeOf(item.since),
    fromTime: timeOf(item.fromTime),
    toTime: timeOf(item.toTime),
  }))
}

/** Times stay instants; what shows the text puts them into the viewer's zone. */
export const itemText = (item: DescribedAttention): string =>
  printable(attentionText(item, (at) => at.toISOString()))

/** A line per item, below a table: the sentence and the command that shows it. */
export function sayItems(
  { show }: Pick<CommandContext, 'show'>,
  items: readonly DescribedAttention[],
): void {
  if (items.length === 0) return
  show.say('')
  for (const item of items.slice(0, LINES_MAX))
    show.say(`${itemText(item)}: ${item.command}`, 'yellow')
  const more = items.length - LINES_MAX
  if (more > 0) show.say(`and ${more} more: matoolkit doctor`)
}
