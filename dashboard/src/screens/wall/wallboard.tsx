// The wall for a screen on the wall: no navigation, no actions, readable at arm's length.
import { useEffect } from 'react'
import { Link } from 'wouter'
import { LiveMark } from '../../layout/header.tsx'
import { lookOfVerdict, useVerdict } from '../../layout/verdict-bar.tsx'
import { CurrentNeeds } from '../../needs/needs.tsx'
import { Button } from '../../ui/button.tsx'
import { Loaded } from '../../ui/feedback.tsx'
import { titlePage } from '../../ui/page-title.ts'
import { Sentence } from '../../ui/sentence.tsx'
import { BatchCard } from './batch-card.tsx'
import { ClockFace, PhaseClock } from './phase-clock.tsx'
import { bySoonest, useWall } from './use-wall.ts'
import { Sources, Workers } from './workers-and-sources.tsx'
import './wall.css'
import './wallboard.css'

export default function Wallboard() {
  const now = useWall()
  const current = useVerdict().data
  useEffect(() => {
    titlePage('Wallboard')
  }, [])
  return (
    <div className="wallboard">
      <Loaded reading={now} what="the wallboard">
        {({ batches, workers, sources, openReviews, ...verdict }) => (
          <>
            <div className="board-head">
              <h1 data-look={lookOfVerdict(current ?? verdict)[0]}>
                <Sentence text={(current ?? verdict).headline} />
              </h1>
              <ClockFace />
            </div>
            <div className="wall">
              <div className="wall-main">
                <CurrentNeeds isBare />
                {bySoonest(batches.filter(({ batch }) => batch.endedAt === null)).map((one) => (
                  <BatchCard key={one.batch.id} of={one} />
                ))}
              </div>
              <div className="wall-side">
                <PhaseClock batches={batches} />
                <Workers workers={workers} />
                <Sources sources={sources} openReviews={openReviews} />
              </div>
            </div>
          </>
        )}
      </Loaded>
      <div className="board-foot">
        <LiveMark />
        <Button onClick={() => void document.documentElement.requestFullscreen?.()}>
          Full screen
        </Button>
        <Link href="/">Leave the wallboard</Link>
      </div>
    </div>
  )
}
