// The commands of the guides to data sources and versions, followed from a file of people to a second version.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { realClock } from '../../src/base/run/clock.ts'
import { previewSource } from '../../src/scheduler/preview.ts'
import { sourceAccessFrom } from '../../src/scheduler/sources/source.ts'
import { tick } from '../../src/scheduler/tick.ts'
import { plain } from '../api/contract/fixtures.ts'
import { type Cli, openCli } from '../cli/against-api.ts'
import { blocksOf, follow } from './guide.ts'

const PEOPLE = [
  'UserPrincipalName,When',
  'ada@contoso.example,2026-03-02T09:00:00Z',
  'bob@contoso.example,2026-03-02T09:00:00Z',
  ',2026-03-02T09:00:00Z',
  '',
].join('\n')
const TIDY =
  '  - { name: tidy, offset: T+7d, steps: [{ name: sweep, worker_id: w1, function: Sweep }] }\n'

describe('the guides', () => {
  let cli: Cli
  const access = () => {
    const source = {
      sourceTimeoutSec: 60,
      sourceFolder: cli.folder,
      identityEndpoint: null,
      identityHeader: null,
      workloadTokenFile: null,
      workloadClientId: null,
      workloadTenantId: null,
    }
    return sourceAccessFrom(source, realClock())
  }
  before(async () => {
    cli = await openCli({
      options: {
        tickNow: (name, startedBy, stopping) => {
          const { engine } = cli.api.world
          const given = { engine, sources: access(), intervalMs: 300_000, newToken: randomUUID }
          return tick({ ...given, startedBy, evenIfNotDue: true }, name, stopping)
        },
        preview: (runbook, stopping) => {
          const { engine, clock } = cli.api.world
          const sources = access()
          return previewSource({ db: engine.db, sources, runbook, now: clock.now(), stopping })
        },
      },
    })
    writeFileSync(join(cli.folder, 'wave.yaml'), plain('wave'))
    writeFileSync(join(cli.folder, 'people.csv'), PEOPLE)
  })
  after(() => cli.close())

  const HERE = { zone: 'Europe/Berlin', now: new Date('2026-03-02T08:00:00Z') }
  const run = (args: readonly string[]) =>
    cli.person(
      HERE,
      ...args.map((word) => (word.endsWith('.yaml') ? join(cli.folder, word) : word)),
    )
  const sectionOf = async (page: string, section: string) => {
    const blocks = blocksOf(page, section)
    assert.ok(blocks.length > 0, page)
    for (const block of blocks) await follow(block, run)
  }

  it('docs/waves.md: a source is tried, turned on and read', async () => {
    await sectionOf('waves.md', 'Try a source')
    assert.equal((await cli.json<{ total: number }>('batch', 'members', '1')).total, 2)
  })

  it('docs/waves.md: a change is compared, tried and published, and can be found later', async () => {
    cli.api.world.answer = () => ({ ok: true })
    await cli.api.world.settle()
    const file = join(cli.folder, 'wave.yaml')
    writeFileSync(file, readFileSync(file, 'utf8') + TIDY)
    const before = cli.api.world.jobs.length
    await sectionOf('waves.md', 'Change a runbook under way')
    await cli.api.world.settle()
    assert.equal(cli.api.world.jobs.length, before, 'nothing ran again')
  })
})
