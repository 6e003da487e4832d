// What the dashboard weighs and costs: script of the first load and of the editor, in a real Chromium; how soon a batch of 100,000
// members stands after its data and how long the longest task is while it is scrolled; what a wall left open takes from the engine. The
// wall of that part is its requests without a browser: people's browsers run on their own machines.
import type { Page } from 'playwright-core'
import { dashboardLink } from '../src/base/keys/local-token.ts'
import { realClock } from '../src/base/run/clock.ts'
import { openPostgres } from '../src/db/connection/postgres.ts'
import { openBrowser, openPage } from '../test/kit/browser.ts'
import { startPostgres } from '../test/kit/postgres-server.ts'
import { fillBatch } from './api.ts'
import { type Bench, given, median, round } from './bench.ts'
import { canMeasureCpu, cpuOfProcessUs } from './cpu.ts'
import { measureBatch } from './engine.ts'
import { openProcesses, type Processes } from './processes.ts'
import { type RunningApi, startApi } from './running-api.ts'

const MEMBERS = 100_000
const FIRST_LOAD_KB_MAX = 220
const EDITOR_KB_MAX = 230
const OPEN_MS_MAX = 1_000
const TASK_MS_MAX = 100
const WALL_SHARE_MAX = 0.05
const SCROLLS = 60
const SCROLL_PX = 4_000
const FRAME_MS = 50
const PAIRS = 6
const WALL_ASKS_EVERY_MS = 1_000
const clock = realClock()

export const dashboardBench: Bench = {
  name: 'dashboard',
  about: `script sizes, a batch of ${MEMBERS} members in Chromium, what an open wall takes from the engine`,
  run: async (say) => {
    const isWallOnly = given('part') === 'wall'
    const page = isWallOnly ? {} : await measurePage(say)
    return { ...page, wall: await measureWall(say) }
  },
}

async function measurePage(say: (line: string) => void) {
  const server = await startPostgres({ durable: true })
  const db = await openPostgres({ url: server.url, poolSize: 2 })
  await fillBatch(db, MEMBERS)
  say(`a batch of ${MEMBERS} members is made`)
  const api = await startApi(server.url)
  const browser = await openBrowser()
  try {
    const { page } = await openPage(browser, { viewport: { width: 1280, height: 800 } })
    await page.goto(dashboardLink(api.url, api.token))
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    const firstLoadKb = await scriptKb(page)
    await page.goto(`${api.url}/batches/1?view=people`)
    const batch = await measureGrid(page)
    await page.goto(`${api.url}/runbooks/new`)
    await page.getByRole('textbox').first().waitFor()
    const editorKb = round((await scriptKb(page)) - firstLoadKb)
    const figures = {
      firstLoadKb,
      isFirstLoadSmall: firstLoadKb <= FIRST_LOAD_KB_MAX,
      editorKb,
      isEditorSmall: editorKb <= EDITOR_KB_MAX,
      ...batch,
    }
    say(JSON.stringify(figures))
    return figures
  } finally {
    await browser.close()
    await api.close()
    await db.close()
    server.destroy()
  }
}

/** A resource of the page, as the browser tells. */
interface Loaded {
  readonly name: string
  readonly encodedBodySize: number
  readonly responseEnd: number
}

/** As sent: gzipped. */
const scriptKb = async (page: Page): Promise<number> =>
  round(
    (await page.evaluate(() =>
      (performance.getEntriesByType('resource') as unknown as Loaded[])
        .filter(({ name }) => name.endsWith('.js'))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
    )) / 1_000,
  )

/** As text: the types of Node know no long tasks. */
const WATCH_TASKS = `
  globalThis.tasks = []
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) globalThis.tasks.push(duration)
  }).observe({ type: 'longtask' })`

async function measureGrid(page: Page) {
  const grid = page.getByRole('grid')
  await grid.getByRole('gridcell').first().waitFor()
  const openMs = await page.evaluate(() => {
    const asked = performance.getEntriesByType('resource') as unknown as Loaded[]
    const data = asked
      .filter(({ name }) => /\/grid/.test(name))
      .map(({ responseEnd }) => responseEnd)
    return performance.now() - Math.min(...data)
  })
  await page.evaluate(WATCH_TASKS)
  await grid.hover()
  for (let scroll = 0; scroll < SCROLLS; scroll += 1) {
    await page.mouse.wheel(0, SCROLL_PX)
    await clock.wait(FRAME_MS)
  }
  const tasks = await page.evaluate<number[]>('globalThis.tasks')
  const longestTaskMs = Math.round(Math.max(0, ...tasks))
  return {
    openMs: Math.round(openMs),
    isOpenInTime: openMs <= OPEN_MS_MAX,
    longestTaskMs,
    isFluid: longestTaskMs <= TASK_MS_MAX,
  }
}

/**
 * The engine without and with a wall, in turns and the other way round in every second pair: a later batch finds a larger database.
 * Processes and API are warm: a wall is left open for hours.
 */
async function measureWall(say: (line: string) => void) {
  const without: Measured[] = []
  const withWall: Measured[] = []
  const processes = await openProcesses()
  const api = await startApi(processes.url)
  try {
    await measureWithWall(processes, api, '-first')
    for (let pair = 1; pair <= PAIRS; pair += 1) {
      const isWallFirst = pair % 2 === 0
      if (isWallFirst) withWall.push(await measureWithWall(processes, api, `-with-${pair}`))
      without.push(await measureTimed(processes, api, `-without-${pair}`))
      if (!isWallFirst) withWall.push(await measureWithWall(processes, api, `-with-${pair}`))
      say(
        `pair ${pair}: without a wall ${said(without.at(-1)!)}; with one ${said(withWall.at(-1)!)}`,
      )
    }
  } finally {
    await api.close()
    await processes.close()
  }
  const rates = { without: middleRate(without), withWall: middleRate(withWall) }
  const share = round(1 - rates.withWall / rates.without)
  return { ...rates, share, isCheap: share <= WALL_SHARE_MAX }
}

interface Measured {
  readonly rate: number
  /** Of all processes, per step; null where it cannot be read. */
  readonly cpuUs: number | null
  /** Of the API, per second. */
  readonly apiMsPerSec: number | null
}

const middleRate = (runs: readonly Measured[]): number => median(runs.map(({ rate }) => rate))

const said = ({ rate, cpuUs, apiMsPerSec }: Measured): string =>
  `${rate} steps/s${cpuUs === null ? '' : ` (${cpuUs} µs a step; API ${apiMsPerSec} ms a second)`}`

async function measureTimed(
  processes: Processes,
  { pid }: RunningApi,
  suffix: string,
): Promise<Measured> {
  const [before, startedMs] = [cpuOfApi(pid), +clock.now()]
  const { rate, cpu } = await measureBatch(processes, suffix)
  const [after, endedMs] = [cpuOfApi(pid), +clock.now()]
  if (!cpu || before === null || after === null) return { rate, cpuUs: null, apiMsPerSec: null }
  const cpuUs = cpu.orchestrator + cpu.worker + cpu.postgres
  return { rate, cpuUs, apiMsPerSec: Math.round((after - before) / (endedMs - startedMs)) }
}

const cpuOfApi = (pid: number): number | null => (canMeasureCpu() ? cpuOfProcessUs(pid) : null)

async function measureWithWall(
  processes: Processes,
  api: RunningApi,
  suffix: string,
): Promise<Measured> {
  const left = new AbortController()
  const wall = keepWallOpen(api, left.signal)
  const measured = await measureTimed(processes, api, suffix)
  left.abort()
  await wall
  return measured
}

/** Its stream, and its picture read again as often as a busy stream makes it. */
async function keepWallOpen({ url, token }: RunningApi, signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const stream = fetch(`${url}/api/events?entity=batch,phase`, { headers, signal })
    .then(async ({ body }) => {
      for await (const _ of body!);
    })
    .catch(() => {})
  while (!signal.aborted) {
    await fetch(`${url}/api/now`, { headers, signal }).then(
      (answer) => answer.text(),
      () => '',
    )
    await clock.wait(WALL_ASKS_EVERY_MS, signal)
  }
  await stream
}
