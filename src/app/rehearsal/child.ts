// The process of a rehearsal that the API began: gets one order, tells its progress, then its report or why there is none. It ends with
// its API.

import type { RehearsalOrder } from '../../api/services/rehearsals.ts'
import { messageOf } from '../../base/errors/errors.ts'
import { realClock } from '../../base/run/clock.ts'
import type { Json } from '../../base/text/json.ts'
import { openDisposable } from '../../db/schema/disposable-pglite.ts'
import { readRunbook } from '../../domain/runbook/read.ts'
import type { ChangeWindows } from '../../domain/windows/change-windows.ts'
import { M365_CATALOGUE } from '../../m365/catalogue.ts'
import { namedFaults } from './faults.ts'
import { rehearse } from './rehearse.ts'
import type { RehearsalReport } from './report.ts'
import { rehearseLive, rehearseWhatIf } from './what-if.ts'
import type { WhatIfReport } from './what-if-report.ts'

/** What it says. */
export type ChildWord =
  | { readonly at: string }
  | { readonly report: Json }
  | { readonly error: string }

/** Dates are texts on the way. */
export type ChildOrder = Omit<RehearsalOrder, 'startAt'> & {
  readonly startAt: string | null
  readonly templates: string | null
  readonly windows: ChangeWindows | null
}

const PROGRESS_MS = 1_000

const asJson = (report: RehearsalReport | WhatIfReport) => report as unknown as Json
const tell = (word: ChildWord) => void process.send?.(word)

async function run(order: ChildOrder): Promise<void> {
  const { yaml, columns, rows, faults, startAt, seed, slots, templates, windows, whatIf } = order
  const { runbook, problems } = readRunbook(yaml, { catalogues: [M365_CATALOGUE], isLinted: true })
  if (!runbook) throw new Error(problems[0]?.message ?? 'The runbook is invalid.')
  const clock = realClock()
  let toldAt = 0
  const onProgress = (at: Date) => {
    if (+clock.now() - toldAt < PROGRESS_MS) return
    toldAt = +clock.now()
    tell({ at: at.toISOString() })
  }
  const openDatabase = () => openDisposable(templates)
  const { notifications } = order
  const common = { yaml, runbook, lint: problems, seed, windows, tenantSeed: null, notifications }
  const shared = { ...common, onProgress, openDatabase }
  if (whatIf) {
    const { keys, isCompared, ...more } = whatIf
    const people = rows.map((row, at) => ({ key: keys[at]!, row }))
    const input = { ...shared, ...more, people }
    const ran = isCompared ? rehearseWhatIf(input) : rehearseLive(input, slots)
    tell({ report: asJson(await ran) })
    return
  }
  const report = await rehearse({
    ...shared,
    slots,
    members: { file: 'members', columns, rows },
    startAt: startAt === null ? null : new Date(startAt),
    now: clock.now(),
    faults: faults.length > 0 ? namedFaults(faults.join(',')) : null,
  })
  tell({ report: asJson(report) })
}

process.on('disconnect', () => process.exit(1))
process.once('message', (order: ChildOrder) => {
  run(order).catch((error: unknown) => tell({ error: messageOf(error) }))
})
