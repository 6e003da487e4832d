// Small runbooks with every feature, drawn from the seed: init with outputs and polling, phases before and after the start, retries
// of both kinds, polls, rollbacks of several steps, removal steps, templates that some members cannot resolve. A later version
// changes retries, adds a step, drops or moves a phase, or changes the spelling.
import type { Json } from '../../../src/base/text/json.ts'
import type { GivenMember } from '../../../src/engine/orders/create.ts'
import type { Chance } from './chance.ts'
import { guardLines, type Night, windowLines } from './night.ts'

export const WORKERS = ['w1', 'w2'] as const

export interface Shape {
  readonly name: string
  readonly hasInit: boolean
  readonly hasRemoval: boolean
  /** The phases in file order, by their place in time. */
  readonly placesInFile: readonly number[]
  /** Two of three members fail in the first phase, for the fuse. */
  readonly isDoomed: boolean
  readonly night: Night | null
}

/** `phasesMax`: every batch runs all of them in the end, and a source creates many batches. */
export function drawShape(
  chance: Chance,
  name: string,
  { isDoomed, phasesMax, night }: Pick<Shape, 'isDoomed' | 'night'> & { phasesMax: number },
): Shape {
  return {
    name,
    hasInit: !isDoomed && chance.happens(0.4),
    hasRemoval: chance.happens(0.7),
    placesInFile: chance.shuffled([0, 1, 2].slice(0, isDoomed ? 1 : chance.between(1, phasesMax))),
    isDoomed,
    night,
  }
}

/** With the same worker, as in most runbooks, the next step uses the freed slot at once. */
const OTHER_WORKER_SHARE = 0.25

/** A step's fields as flow YAML. */
function step(name: string, chance: Chance, more: readonly string[] = []): string {
  const worker = chance.happens(OTHER_WORKER_SHARE) ? WORKERS[1] : WORKERS[0]
  const fields = [`name: ${name}`, `worker_id: ${worker}`, `function: Do-${name}`]
  const hasParams = more.some((one) => one.startsWith('params:') || one.startsWith('function:'))
  const params = hasParams ? [] : ['params: { Batch: "{{_batch_id}}" }']
  const given = new Set(more.map((one) => one.split(':')[0]))
  const kept = fields.filter((one) => !given.has(one.split(':')[0]!))
  return `{ ${[...kept, ...params, ...more].join(', ')} }`
}

const TIMEOUT = 'timeout: 5m'

const retry = (chance: Chance): string =>
  chance.pick([
    'retry: { max_retries: 0 }',
    'retry: { max_retries: 1, interval: 20s }',
    'retry: { max_retries: 3, interval: 15s, backoff: exponential, max_interval: 40s }',
  ])

/** The longer one exceeds a job's time limit, so a poll can be lost and repeated. */
const poll = (chance: Chance): string =>
  chance.pick(['poll: { interval: 10s, timeout: 150s }', 'poll: { interval: 45s, timeout: 15m }'])

const KEY = 'params: { Upn: "{{Upn}}" }'

function prepare(chance: Chance, { isDoomed }: Shape, version: number): string[] {
  const name = version > 1 && chance.happens(0.5) ? 'Create' : 'create'
  const create = [KEY, TIMEOUT, retry(chance), 'output_params: { ThingId: id, Size: size }']
  if (isDoomed) {
    return [step('doomed', chance, [KEY, TIMEOUT, 'retry: { max_retries: 0 }'])]
  }
  const undo = chance.happens(0.5) ? ['on_failure: undo-create'] : []
  return [
    step(name, chance, [...create, 'on_failure: undo-create']),
    step('sync', chance, [KEY, TIMEOUT, poll(chance), retry(chance), ...undo]),
    ...(version > 1 && chance.happens(0.5) ? [step('extra', chance, [KEY, TIMEOUT])] : []),
  ]
}

function cutover(chance: Chance): string[] {
  return [
    step('switch', chance, [
      'params: { Id: "{{ThingId}}", Upn: "{{Upn}}" }',
      TIMEOUT,
      retry(chance),
      'on_failure: undo-switch',
    ]),
    step('route', chance, ['function: "{{Router}}"', KEY, TIMEOUT]),
  ]
}

function after(chance: Chance): string[] {
  return [step('verify', chance, [KEY, TIMEOUT, poll(chance), retry(chance)])]
}

/** The text of one version. Phases keep their names; some versions drop one or move it. */
export function runbookText(chance: Chance, shape: Shape, version: number): string {
  const lines = [
    `name: ${shape.name}`,
    'data_source: { type: csv, path: x.csv, primary_key: Upn, batch_time_column: When }',
    'retry: { max_retries: 1, interval: 25s }',
    `safeguards: { max_failed_percent: ${shape.isDoomed ? 30 : 100} }`,
  ]
  lines.push(...windowLines(shape.night, version))
  if (shape.hasInit) {
    const open = [TIMEOUT, 'output_params: { Ticket: id }', 'on_failure: close-down', retry(chance)]
    lines.push('init:', `  - ${step('open', chance, open)}`)
    lines.push(
      `  - ${step('ready', chance, ['params: { T: "{{Ticket}}" }', TIMEOUT, poll(chance)])}`,
    )
  }
  const bodies = [prepare(chance, shape, version), cutover(chance), after(chance)]
  const offsets = ['T-30m', 'T-0', 'T+20m']
  const moved = ['T-10m', 'T+5m', 'T-40m']
  const names = ['prepare', 'cutover', 'after']
  lines.push('phases:')
  const left = version > 1 && chance.happens(0.15) ? chance.pick(shape.placesInFile) : null
  const kept = shape.placesInFile.filter((place) => place !== left)
  // Their order in the file is not their order in time.
  for (const i of kept.length > 0 ? kept : shape.placesInFile) {
    const isMoved = version > 1 && chance.happens(0.15)
    lines.push(`  - name: ${names[i]}`, `    offset: ${isMoved ? moved[i] : offsets[i]}`)
    lines.push(...guardLines(shape.night, i, version), '    steps:')
    lines.push(...bodies[i]!.map((one) => `      - ${one}`))
  }
  if (shape.hasRemoval) {
    lines.push('on_member_removed:')
    lines.push(`  - ${step('forget', chance, [KEY, TIMEOUT])}`)
    lines.push(`  - ${step('tell', chance, [KEY, TIMEOUT, retry(chance)])}`)
  }
  lines.push('rollbacks:')
  lines.push(`  undo-create: [${step('delete', chance, [KEY, TIMEOUT])}]`)
  const back = step('switch-back', chance, [KEY, TIMEOUT])
  lines.push(`  undo-switch: [${back}, ${step('note', chance, [TIMEOUT])}]`)
  if (shape.hasInit) lines.push(`  close-down: [${step('close', chance, [TIMEOUT])}]`)
  return `${lines.join('\n')}\n`
}

/** Rows for people `from` to `from + count - 1`; some lack a column that a template needs. */
export function people(chance: Chance, from: number, count: number): GivenMember[] {
  return Array.from({ length: count }, (_, i) => {
    const key = `user${from + i}@contoso.example`
    const data: Record<string, Json> = { Upn: key, Number: from + i }
    if (chance.happens(0.85)) data.Router = 'Do-route'
    return { key, data }
  })
}
