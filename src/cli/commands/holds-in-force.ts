// Holds in force, as overviews show them: a hold of the whole system on the first line, others in the row of what they stop.

import type { Answer, ListedRow, RequestOf } from '../../api/client/endpoints.ts'
import { printable } from '../../base/text/printable.ts'
import type { CommandContext } from '../program/command-context.ts'
import { inViewersZone } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'

export type HoldInForce = ListedRow<'GET /api/holds'>

/** A page of the holds that match, the widest first, and how many there are. */
export const loadHoldsInForce = (
  { client }: Pick<CommandContext, 'client'>,
  query: NonNullable<RequestOf<'GET /api/holds'>['query']>,
): Promise<Answer<'GET /api/holds'>> => client.call('GET /api/holds', { query })

/** Runbooks and workers are far fewer. */
const PAGE_MAX = 500

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** `The whole system is held since 22:30 by ann: mail loops. End it with: matoolkit resume --all` */
const holdLine = (
  { io }: Pick<CommandContext, 'io'>,
  { name, heldAt, heldBy, reason, endsWith }: HoldInForce,
): string =>
  inViewersZone(
    io,
    printable(
      `${capital(name)} is held since ${heldAt} by ${heldBy}: ${reason}. End it with: ${endsWith}`,
    ),
  )

/** Says on the first line of an overview that nothing is sent at all. Returns the holds of the system, runbooks and workers. */
export async function sayHeldSystem(context: CommandContext): Promise<readonly HoldInForce[]> {
  const { holds } = await loadHoldsInForce(context, {
    scope: 'system,runbook,worker',
    limit: PAGE_MAX,
  })
  sayHolds(
    context,
    holds.filter(({ scope }) => scope === 'system'),
  )
  return holds
}

export function sayHolds(context: CommandContext, holds: readonly HoldInForce[]): void {
  for (const hold of holds) context.show.say(holdLine(context, hold), 'yellow')
}

/** Why each row's runbook or worker is held. */
export const heldColumn = <R>(
  holds: readonly HoldInForce[],
  scope: 'runbook' | 'worker',
  targetOf: (row: R) => string,
): Column<R> => {
  const reasons = new Map(
    holds.filter((hold) => hold.scope === scope).map(({ target, reason }) => [target, reason]),
  )
  const keyOf = (target: string) => (scope === 'runbook' ? target.toLowerCase() : target)
  return ['HELD', (row) => reasons.get(keyOf(targetOf(row)))]
}
