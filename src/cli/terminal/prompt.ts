// Questions to the person: confirmation before an irreversible change, and a reason. Above 100 members the person types the number
// of members, so that nobody confirms the wrong batch by habit. Without a person and without the flag, nothing is done.
import { MatoolkitError } from '../../base/errors/errors.ts'
import { commandLine } from '../../base/text/command-line.ts'
import { printable } from '../../base/text/printable.ts'
import { type CommandContext, textFlag } from '../program/command-context.ts'
import { inViewersZone } from './io.ts'

const TYPED_ABOVE_MEMBERS = 100

export interface Question {
  /** The effect, as a sentence. */
  readonly what: string
  /** How many members it affects. */
  readonly members: number
}

/** Returns when the person agrees or `--yes` is given; throws CONFIRMATION_NEEDED or CONFIRMATION_REFUSED. */
export async function confirm(
  { io, flags }: Pick<CommandContext, 'io' | 'flags'>,
  { what, members }: Question,
): Promise<void> {
  if (flags.yes) return
  if (!io.canAsk) throw new MatoolkitError('CONFIRMATION_NEEDED', { what })
  io.err(inViewersZone(io, printable(what)))
  const isLarge = members > TYPED_ABOVE_MEMBERS
  const answer = await io.ask(
    isLarge ? `Type the number of members (${members}) to continue: ` : 'Continue? [y/N] ',
  )
  const isConfirmed = isLarge ? answer === String(members) : /^y(?:es)?$/i.test(answer)
  if (!isConfirmed) throw new MatoolkitError('CONFIRMATION_REFUSED')
}

/** The reason from `--reason`, else from the person. Throws REASON_NEEDED. */
export async function askReason({ io, flags }: CommandContext): Promise<string> {
  const given = textFlag(flags, 'reason') ?? (io.canAsk ? await io.ask('Reason: ') : '')
  if (given.trim() !== '') return given
  throw new MatoolkitError('REASON_NEEDED')
}

/** The line that a script writes for the same change, after it was refused for want of a confirmation or a reason. */
export function lineOfScript(args: readonly string[], code: string): string[] {
  if (code !== 'CONFIRMATION_NEEDED' && code !== 'REASON_NEEDED') return []
  const end = args.includes('--') ? args.indexOf('--') : args.length
  const isConfirmed = args.slice(0, end).some((arg) => arg === '--yes' || arg === '-y')
  const more = [
    ...(code === 'REASON_NEEDED' ? ['--reason', 'WHY'] : []),
    ...(isConfirmed ? [] : ['--yes']),
  ]
  return [`In a script: ${commandLine`${[...args.slice(0, end), ...more, ...args.slice(end)]}`}`]
}
