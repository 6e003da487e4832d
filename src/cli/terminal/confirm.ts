// Asks before something that cannot be taken back: a yes for little, the number of members for much, so that nobody confirms the
// wrong batch by habit. `--yes` answers for scripts; without it and without a person nothing is done.
import { MatoolkitError } from '../../errors.ts'
import type { CommandContext } from '../command-context.ts'
import { printable } from './io.ts'

const TYPED_ABOVE_MEMBERS = 100

export interface Question {
  /** What would be done, as a sentence. */
  readonly what: string
  /** How many members it concerns. */
  readonly members: number
}

/** Returns when it is meant; throws CONFIRMATION_NEEDED or CONFIRMATION_REFUSED. */
export async function confirm(
  { io, flags }: CommandContext,
  { what, members }: Question,
): Promise<void> {
  if (flags.yes) return
  if (!io.canAsk) throw new MatoolkitError('CONFIRMATION_NEEDED', { what })
  io.err(printable(what))
  const isMuch = members > TYPED_ABOVE_MEMBERS
  const wanted = isMuch ? String(members) : 'y'
  const answer = await io.ask(
    isMuch ? `Type the number of members (${members}) to go on: ` : 'Go on? [y/N] ',
  )
  const isMeant = isMuch ? answer === wanted : /^y(?:es)?$/i.test(answer)
  if (!isMeant) throw new MatoolkitError('CONFIRMATION_REFUSED')
}
