// Without a collector in the settings nothing of OpenTelemetry or Azure Monitor is loaded, and jobs carry no trace context.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { openTelemetry } from '../../../src/app/roles/telemetry.ts'
import { createLog } from '../../../src/base/log/log.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { readConfig } from '../../../src/base/settings/config.ts'
import { Measures } from '../../../src/base/telemetry/measures.ts'
import { ROOT } from '../../kit/processes.ts'

const configOf = (env: Record<string, string>) => {
  const read = readConfig(env)
  assert.ok('config' in read, JSON.stringify(read))
  return read.config
}

it('is off without a setting, and its packages are loaded on demand only', async () => {
  const clock = realClock()
  const log = createLog({ level: 'error', format: 'json', clock, destination: { write: () => {} } })
  const options = { roles: ['worker'], clock, log, measures: new Measures() } as const
  assert.equal(await openTelemetry({ ...options, config: configOf({}) }), null)
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  const texts = files
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(ROOT, 'src', name), 'utf8'))
  const named = texts.filter((text) => /@opentelemetry\/|@azure\/monitor/.test(text))
  assert.ok(named.length >= 2)
  for (const text of named)
    assert.doesNotMatch(
      text,
      /^(?:import (?!type)|export )[^\n]*from '@(?:opentelemetry|azure\/monitor)/m,
    )
})

it('refuses settings that cannot work', () => {
  for (const env of [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    { OTEL_TRACES_SAMPLER_ARG: '1.5' },
    { OTEL_EXPORTER_OTLP_HEADERS: 'no value' },
    { APPLICATIONINSIGHTS_CONNECTION_STRING: 'IngestionEndpoint=https://x.example/' },
    { APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'Authorization=Key' },
  ])
    assert.ok(!('config' in readConfig(env)), JSON.stringify(env))
  const given = configOf({
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=abc==,x-team=m',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  })
  assert.deepEqual([given.traceRatio, given.otlpHeaders], [0.25, 'api-key=abc==,x-team=m'])
})
