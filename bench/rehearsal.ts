// Rehearsals of 200 and of 1,000 people, three phases of five steps over 21 days, each in a process of its own. The goals are for two
// cores without neighbours; the processor time says how far a busy machine is from them.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDisposable } from '../src/db/schema/disposable-pglite.ts'
import { type Bench, round } from './bench.ts'
import type { RehearsalFigures } from './rehearsal-process.ts'

const GOALS = [
  { members: 200, secMax: 15, mbMax: 1_024 },
  { members: 1_000, secMax: 60, mbMax: 1_024 },
]

export const rehearsalBench: Bench = {
  name: 'rehearsal',
  about: 'rehearsals of 200 and 1,000 people over 21 days, with their time and memory',
  run: async (say) => {
    const templates = mkdtempSync(join(tmpdir(), 'matoolkit-bench-'))
    try {
      // Made once per release and machine.
      await (await openDisposable(templates)).close()
      const runs = []
      for (const { members, secMax, mbMax } of GOALS) {
        const { ms, cpuMs, peakMb, ...more } = await rehearseIn(templates, members)
        const run = {
          members,
          sec: round(ms / 1_000),
          cpuSec: round(cpuMs / 1_000),
          peakMb: round(peakMb),
          membersPerSec: round(members / (ms / 1_000)),
          membersPerCpuSec: round(members / (cpuMs / 1_000)),
          secMax,
          mbMax,
          isInTime: ms <= secMax * 1_000,
          isCpuInTime: cpuMs <= secMax * 1_000,
          fits: peakMb <= mbMax,
          ...more,
        }
        say(JSON.stringify(run))
        runs.push(run)
      }
      return { runs }
    } finally {
      rmSync(templates, { recursive: true })
    }
  },
}

async function rehearseIn(templates: string, members: number): Promise<RehearsalFigures> {
  const child = fork(new URL('./rehearsal-process.ts', import.meta.url), [
    String(members),
    templates,
  ])
  const ended = once(child, 'exit')
  const answer = await Promise.race([once(child, 'message'), ended.then(() => null)])
  if (answer === null) throw new Error('the process ended in the middle of its rehearsal')
  const [figures] = answer as [RehearsalFigures]
  await ended
  if (figures.verdict !== 'ready') throw new Error(`the rehearsal was ${figures.verdict}`)
  return figures
}
