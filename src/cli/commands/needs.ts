// What needs a person, as lines with the command that handles it.

import type { Answer, RequestOf } from '../../api/client/endpoints.ts'
import { countText } from '../../base/text/count-text.ts'
import { printable } from '../../base/text/printable.ts'
import type { CommandContext } from '../program/command-context.ts'

const LINES_MAX = 10

export type Needs = Answer<'GET /api/needs'>
export type ListedNeed = Needs['needs'][number]

export const loadNeeds = async (
  { client }: Pick<CommandContext, 'client'>,
  query: NonNullable<RequestOf<'GET /api/needs'>['query']> = {},
): Promise<readonly ListedNeed[]> => (await client.call('GET /api/needs', { query })).needs

/** A line per need, below a table: the sentence and the command. Times stay instants; what shows them puts them into the viewer's zone. */
export function sayNeeds(
  { show }: Pick<CommandContext, 'show'>,
  needs: readonly Pick<ListedNeed, 'text' | 'command'>[],
): void {
  if (needs.length === 0) return
  show.say('')
  for (const { text, command } of needs.slice(0, LINES_MAX))
    show.say(`${printable(text)}: ${command}`, 'yellow')
  const more = needs.length - LINES_MAX
  if (more > 0) show.say(`and ${more} more: matoolkit status`)
}

/** Who is needed, in red or green, above what explains it. */
export function sayHeadline(
  { show }: Pick<CommandContext, 'show'>,
  { headline, isActionNeeded }: Pick<Needs, 'headline' | 'isActionNeeded'>,
): void {
  show.say(printable(headline), isActionNeeded ? 'red' : 'green')
}

/** `15 removals, 1 move`: what this batch needs. */
export function countedNeeds(needs: readonly ListedNeed[], batchId: number): string | null {
  const ours = needs.filter(({ batchIds }) => batchIds?.includes(batchId))
  const counts = [...Map.groupBy(ours, ({ noun }) => noun)].map(([noun, same]) =>
    countText(
      same.reduce((sum, { count }) => sum + count, 0),
      noun,
    ),
  )
  return counts.join(', ') || null
}
