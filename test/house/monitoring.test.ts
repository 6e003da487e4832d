// Alert rules and the Grafana dashboard use only metrics and labels that the program really exports, and every exported metric of ours
// is watched by one of them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { Figures, processLines } from '../../src/api/services/figures.ts'
import { createMeter } from '../../src/api/services/metrics.ts'
import { MEASURES, Measures } from '../../src/base/telemetry/measures.ts'
import { type Bus, ORCHESTRATOR_EVENTS } from '../../src/bus/bus.ts'
import { holdScope } from '../../src/engine/orders/holds.ts'
import { event } from '../bus/under-test.ts'
import { programme, wave } from '../stories/programme.ts'

const text = (name: string) =>
  readFileSync(new URL(`../../infra/monitoring/${name}`, import.meta.url), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook_url: string }
}
const { groups } = parse(text('alerts.yaml')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const dashboard = JSON.parse(text('grafana-dashboard.json')) as {
  panels: { title: string; targets: { expr: string }[] }[]
}
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
]

/** A metric's labels, from what a process with work shows: a wave on hold, a late message, a throttled worker. */
const exported = new Map<string, Set<string>>()

function learn(lines: readonly string[]): void {
  for (const line of lines) {
    const found = /^(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? [\d.e+-]+$/.exec(line)
    if (!found) continue
    const [, name, labels = ''] = found
    const known = exported.get(name!) ?? new Set()
    exported.set(name!, known)
    for (const [, label] of labels.matchAll(/(\w+)="/g)) known.add(label!)
  }
}

/** As with the transport `servicebus`, whose outbox is measured in test/bus/servicebus/relay.test.ts. */
const withRelay = (bus: Bus, now: Date): Bus => ({
  ...bus,
  capabilities: {
    ...bus.capabilities,
    relay: {
      forward: async () => 0,
      waiting: async () => [{ topic: 'worker-jobs', count: 2, oldestAt: now }],
      listen: async () => async () => {},
    },
  },
})

describe('monitoring', () => {
  before(() =>
    programme(async (made) => {
      const { engine, db, bus, clock } = made
      made.answer = () => 'silent'
      await made.tick(wave(24, 1, 2, 3))
      await made.tickUntil(1)
      await holdScope(engine, { scope: 'system', target: '', actor: 'ada', reason: 'drill' })
      await made.tick(new Error('the source does not answer'))
      await bus.publish([event(), event()])
      const [odd] = await bus.receive(ORCHESTRATOR_EVENTS, 1)
      await bus.deadLetter([odd!], 'Odd', 'for the test')
      learn(await new Figures({ db, bus, clock }).lines())
      learn(await new Figures({ db, bus: withRelay(bus, clock.now()), clock }).lines())
      const held = await new Figures({ db, bus, clock }).lines()
      assert.ok(held.includes('matoolkit_held{scope="system"} 1'), held.join('\n'))
      assert.ok(held.includes('matoolkit_waiting_for_people{kind="source_failing"} 1'))
      assert.ok(held.includes('matoolkit_late_seconds{timer="phase"} 0'))
      assert.match(held.join('\n'), /^matoolkit_tick_age_seconds\{runbook="wave"\} 300$/m)
      const measures = new Measures()
      const worker = 'w1'
      measures.observe('matoolkit_job_seconds', { worker, function: 'f', status: 'Success' }, 40)
      measures.count('matoolkit_jobs_refused_total', { worker, reason: 'Expired' })
      measures.count('matoolkit_throttled_total', { worker, service: 'Graph' })
      measures.count('matoolkit_throttled_seconds_total', { worker, service: 'Graph' }, 2.5)
      measures.count('matoolkit_errors_total', { role: 'worker' })
      measures.count('matoolkit_jobs_sent_total', { worker, kind: 'retry' })
      measures.count('matoolkit_jobs_settled_total', { worker, outcome: 'failed' })
      measures.count('matoolkit_telemetry_lost_total', { signal: 'spans' })
      const meter = createMeter(measures)
      meter.begin()
      meter.end({ method: 'GET', route: '/api/health', status: 200, ms: 3 })
      learn(meter.lines())
      learn(processLines(process.memoryUsage(), 1))
      assert.ok(
        meter
          .lines()
          .includes(
            'matoolkit_job_seconds_bucket{worker="w1",function="f",status="Success",le="0.1"} 1',
          ),
      )
      assert.ok(
        meter
          .lines()
          .includes('matoolkit_throttled_seconds_total{worker="w1",service="Graph"} 2.5'),
      )
    }),
  )

  it('has every declared measure in the output', () => {
    assert.deepEqual(
      Object.keys(MEASURES).filter((name) => !exported.has(name)),
      [],
    )
  })

  it('asks only for metrics that exist', () => {
    const asked = expressions.flatMap(
      (expr) => expr.match(/\b(?:matoolkit|process|nodejs)_\w+/g) ?? [],
    )
    assert.ok(asked.length > 20)
    const bare = (name: string) =>
      exported.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')
    assert.deepEqual(
      asked.filter((name) => !exported.has(bare(name))),
      [],
    )
  })

  it('groups and filters only by labels that the metric has', () => {
    for (const expr of expressions) {
      const [name] = expr.match(/\b(?:matoolkit|process)_\w+/) ?? []
      const labels = exported.get(name!) ?? exported.get(name!.replace(/_(bucket|sum|count)$/, ''))!
      const used = [
        ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/, */)),
        ...[...expr.matchAll(/(\w+)=~?"/g)].map(([, label]) => label!),
      ]
      // Prometheus adds job and instance itself.
      const unknown = used.filter((label) => !['le', 'job', 'instance', ...labels].includes(label))
      assert.deepEqual(unknown, [], expr)
    }
  })

  it('has the same alerts in Azure Monitor, and a workbook, over metrics and labels that exist', () => {
    const bicep = readFileSync(
      new URL('../../infra/automation/modules/alerts.bicep', import.meta.url),
      'utf8',
    )
    const found = [...bicep.matchAll(/name: '(Matoolkit\w+)', page: (\w+)/g)]
    assert.deepEqual(
      found.map(([, name, page]) => `${name} ${page === 'true' ? 'page' : 'ticket'}`).toSorted(),
      rules.map(({ alert, labels }) => `${alert} ${labels.severity}`).toSorted(),
    )
    const calls = [...bicep.matchAll(/(?:highest|lasting)\('(\w+)', '(\w+)'/g)]
    const plain = [...bicep.matchAll(/query: '(customMetrics[^']*)'/g)].map(([, query]) => query!)
    const { items } = JSON.parse(text('workbook.json')) as {
      items: { content: { query: string } }[]
    }
    const queries = [...plain, ...items.map(({ content }) => content.query)]
    assert.ok(calls.length >= 8 && plain.length >= 4 && items.length >= 8)
    for (const [, name, label] of calls)
      assert.ok(exported.get(name!)?.has(label!), `${name} ${label}`)
    for (const query of queries) {
      const [, name] = /name == ["'](\w+)["']/.exec(query)!
      for (const [, label] of query.matchAll(/customDimensions\.(\w+)/g))
        assert.ok(exported.get(name!)?.has(label!), `${name} ${label}`)
    }
  })

  it('watches every metric of ours', () => {
    const all = expressions.join('\n')
    const unwatched = [...exported.keys()].filter(
      (name) => name.startsWith('matoolkit_') && !all.includes(name),
    )
    assert.deepEqual(unwatched, [])
  })

  it('describes each alert on the page of the night, and no others: what it means, what to look at, what to do', () => {
    const read = (file: string) =>
      readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8')
    const operating = read('operating.md')
    const [, section] = /^## Alerts\n([\s\S]*?)^## /m.exec(read('cut-over-night.md'))!
    const parts = section!.split(/^### /m).slice(1)
    assert.equal(parts.length, rules.length)
    for (const { alert, labels, annotations } of rules) {
      const [page, name] = annotations.runbook_url.split('#')
      assert.equal(page, 'docs/cut-over-night.md')
      assert.equal(alert.toLowerCase(), `matoolkit${name!.replaceAll('-', '')}`)
      const part = parts.find((one) => one.toLowerCase().startsWith(name!.replaceAll('-', ' ')))
      assert.ok(part, alert)
      const says = { page: 'Page.', ticket: 'Ticket.' }[labels.severity]!
      for (const word of [says, 'Look:', 'Do:']) assert.ok(part.includes(word), `${alert}: ${word}`)
      assert.ok(operating.includes(`(cut-over-night.md#${name}) | ${labels.severity} |`), alert)
    }
  })
})
