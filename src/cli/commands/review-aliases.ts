// `removals`, `latecomers` and `moves`: the former names of `matoolkit review`. They work for one release, hidden from help.
import type { Command } from 'commander'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Io } from '../terminal/io.ts'
import {
  ALLOW_OVERDUE,
  DECISION,
  decideReviews,
  listVerb,
  type MoveChoiceFlag,
  type ReviewKindFlag,
  type ReviewVerdict,
} from './review.ts'
import { addVerb } from './verb.ts'

const addNoun = (program: Command, name: string, kind: ReviewKindFlag): Command =>
  program.command(name, { hidden: true }).description(`decide on ${kind}s; now "review"`)

function addList(noun: Command, io: Io, kind: ReviewKindFlag): void {
  addVerb(noun, io, {
    ...listVerb(kind),
    about: `list ${kind}s that wait for a person`,
    replacedBy: `review list --kind ${kind}`,
    examples: [`${noun.name()} list`],
  })
}

function addDecision(
  noun: Command,
  io: Io,
  name: string,
  verdict: ReviewVerdict['verdict'],
  kind: ReviewKindFlag,
): void {
  addVerb(noun, io, {
    ...DECISION,
    name,
    about: `${verdict} ${kind}s`,
    replacedBy: `review ${verdict}`,
    examples: [`${noun.name()} ${name} 12 13 --reason "agreed with HR"`],
    run: (context, given, flags) => decideReviews(context, given, flags, { verdict, kind }),
  })
}

export function addRemovalCommands(program: Command, io: Io): void {
  const noun = addNoun(program, 'removals', 'removal')
  addList(noun, io, 'removal')
  addDecision(noun, io, 'confirm', 'approve', 'removal')
  addDecision(noun, io, 'dismiss', 'dismiss', 'removal')
}

export function addLatecomerCommands(program: Command, io: Io): void {
  const noun = addNoun(program, 'latecomers', 'latecomer')
  addList(noun, io, 'latecomer')
  addDecision(noun, io, 'admit', 'approve', 'latecomer')
  addDecision(noun, io, 'dismiss', 'dismiss', 'latecomer')
}

const CHOICES = ['reschedule', 'move', 'keep']

export function addMoveCommands(program: Command, io: Io): void {
  const noun = addNoun(program, 'moves', 'move')
  addList(noun, io, 'move')
  addVerb(noun, io, {
    ...DECISION,
    name: 'decide',
    about: 'reschedule the batch, move its members, or keep them',
    args: [['<choice>', 'reschedule, move or keep'], ...DECISION.args],
    options: [...DECISION.options, ALLOW_OVERDUE],
    replacedBy: 'review approve --choice" or "matoolkit review dismiss',
    examples: ['moves decide move 44 45 --reason "new date agreed"'],
    run: async (context, [choice, ...ids], flags) => {
      if (!CHOICES.includes(choice!)) {
        const reason = `"${choice}" is no choice: say reschedule, move or keep.`
        throw new MatoolkitError('USAGE', { reason })
      }
      const verdict: ReviewVerdict =
        choice === 'keep'
          ? { verdict: 'dismiss', kind: 'move' }
          : { verdict: 'approve', kind: 'move', choice: choice as MoveChoiceFlag }
      await decideReviews(context, ids, flags, verdict)
    },
  })
}
