// The shares of a ramp as segments, as wide as the people that each adds: done, soaking, to come. The texts say all of it.
import {
  type RampShare,
  shareLimitText,
  shareStateText,
} from '../../../../src/domain/plan/ramp-shares.ts'
import { TextWithTimes } from '../../ui/sentence.tsx'
import type { Phase } from './time-axis.ts'

interface RampProps {
  readonly ramp: NonNullable<Phase['ramp']>
  readonly members: Phase['members']
}

const LOOKS: Readonly<Record<RampShare['state'], string>> = {
  done: 'good',
  running: 'busy',
  soaking: 'warn',
  to_come: 'idle',
  not_run: 'off',
}

export const RampShares = ({ ramp, members }: RampProps) => (
  <>
    <ol className="shares" aria-label="Shares of the ramp">
      {ramp.shares.map((share, at) => (
        <li
          key={share.percent}
          className="share"
          data-look={LOOKS[share.state]}
          data-state={share.state}
          style={{ flexGrow: share.percent - (ramp.shares[at - 1]?.percent ?? 0) }}
        >
          <TextWithTimes text={shareStateText(share, ramp.soakEndsAt)} />
        </li>
      ))}
    </ol>
    <p className="quiet share-limit">{shareLimitText(ramp, members)}.</p>
  </>
)
