// Mistakes in the guards of a cut-over night (gates, ramps, change windows, undo) and in what screens say about it. They show only in
// seeds that have a night.
import type { BankedMutant } from './mutant-loader.ts'
import { remove, replace } from './place.ts'

export const NIGHT_MUTANTS: readonly BankedMutant[] = [
  {
    name: 'a gate is passed with approvals of anything: nothing makes them void',
    in: 'endedBecause',
    edits: [replace(': voidedBecause($$args)', ': null')],
    foundBy: 11,
  },
  {
    name: 'an approval outlives a change of the members',
    in: 'voidedBecause',
    edits: [
      replace(
        'if ($isSame || ($changed !== null && $changed <= $survives)) return null',
        'if ($isSame || $survives >= 0) return null',
      ),
    ],
    foundBy: 62,
  },
  {
    name: 'an approval outlives another date',
    in: 'voidedBecause',
    edits: [
      replace(
        'if (+($decided.dueAt ?? 0) !== +($now.dueAt ?? 0))',
        'if (+($decided.dueAt ?? 0) > +($now.dueAt ?? 0) + 1e12)',
      ),
    ],
    foundBy: 11,
  },
  {
    name: 'the publisher approves',
    in: 'whyNotApprove',
    edits: [replace('publishedBy !== $actor', `publishedBy !== ''`)],
    foundBy: 4,
  },
  {
    name: 'a ramp takes everybody with its first share',
    in: 'startShare',
    edits: [replace('rampThrough: $through', 'rampThrough: $through && null')],
    foundBy: 2,
  },
  {
    name: 'a share does not soak',
    in: 'endShare',
    edits: [replace('const $soakEndsAt = $draft.later($$soak)', 'const $soakEndsAt = $draft.now')],
    foundBy: 2,
  },
  {
    name: 'a ramp continues whatever has failed',
    in: 'rampFailure',
    edits: [replace('if (!isRamping($phase)) return null', 'if (phase.id > 0) return null')],
    foundBy: 18,
  },
  {
    name: 'a member who joins or returns gets steps before its share',
    in: 'isBeyondRamp',
    edits: [replace('$rampThrough !== null', '$rampThrough === -1')],
    foundBy: 25,
  },
  {
    name: 'retries do not ask the change window',
    in: 'isOutsideWindow',
    edits: [replace('!$draft.window.isOpen', '!$draft.window.isOpen && step.attempt === 0')],
    foundBy: 44,
  },
  {
    name: 'polls do not ask the change window',
    in: 'changesTenant',
    edits: [
      replace(
        'return mayChangeTenant($draft.factsOf($step.definition.workerId, $functionName))',
        'return !isRepeat && mayChangeTenant($draft.factsOf($step.definition.workerId, $functionName))',
      ),
    ],
    foundBy: null,
  },
  {
    name: 'compensation does not ask the change window',
    in: 'isOutsideWindow',
    edits: [
      replace('!$draft.window.isOpen', `!$draft.window.isOpen && /phase|init/.test(step.kind)`),
    ],
    foundBy: 490,
  },
  {
    name: 'a job may start after its change window',
    in: 'latestStart',
    edits: [replace('$until < $latest', '$until < draft.now')],
    foundBy: 6,
  },
  {
    name: 'an override of the change windows has no end',
    in: 'withOverride',
    edits: [
      replace(
        'if ($overrideUntil === null || $overrideUntil <= $now) return $own',
        'if ($overrideUntil === null) return $own',
      ),
    ],
    foundBy: 89,
  },
  {
    name: 'a change is undone again',
    in: 'planUndo',
    edits: [
      remove(
        `if ($row && isPassed($row.status)) return item($row.status === 'skipped' ? 'skipped' : 'undone')`,
      ),
    ],
    foundBy: 8,
  },
  {
    name: 'an undo takes the first change first',
    in: 'planUndo',
    edits: [replace('return $lines.toReversed().map(', 'return $lines.map(')],
    foundBy: null,
  },
  {
    name: 'an undo that failed leaves its other steps open',
    in: 'stopUndo',
    edits: [remove('for (const $row of $left) cancelStep($$args)')],
    foundBy: null,
  },
  {
    name: 'the verdict does not ask whether a gate is approved',
    in: 'listUnapprovedGates',
    edits: [replace('p.gate_approvals > given.count', 'p.gate_approvals > given.count + 9')],
    foundBy: 19,
  },
  {
    name: 'who is in the cut-over counts as cut over',
    in: 'RULES',
    under: 'src/domain/state/',
    edits: [replace(`['cut_over', ['isCutOver']]`, `['cut_over', ['hasBegunCutOver']]`)],
    foundBy: 1,
  },
  {
    name: 'late joiners are counted as cut over',
    in: 'tellsOfAll',
    edits: [replace('$notOpen === $phase!.members.passed', '$notOpen >= $phase!.members.passed')],
    foundBy: 1,
  },
  {
    name: 'a cancelled phase comes next for a person',
    in: 'nextSteps',
    edits: [
      replace(
        `if ($status !== 'pending' && $status !== 'dispatched') continue`,
        `if ($status === 'completed' || $status === 'superseded') continue`,
      ),
    ],
    foundBy: 4,
  },
  {
    name: 'a person waits for a phase that is cancelled or skipped',
    in: 'shownMember',
    edits: [
      replace(
        `$phases.find(({ status }) => status === 'pending')`,
        `$phases.find(({ dispatchedAt }) => dispatchedAt === null)`,
      ),
    ],
    foundBy: 30,
  },
]
