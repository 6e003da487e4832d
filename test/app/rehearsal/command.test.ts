// `matoolkit runbook rehearse` as people call it: exit codes, formats, the page, and what it says about wrong files.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { commandsFor } from '../../../src/app/commands/nouns.ts'
import { rehearsalPage } from '../../../src/app/rehearsal/report-html.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { run } from '../../../src/cli/program/program.ts'
import { recordingIo } from '../../cli/recording-io.ts'
import { accessibilityProblems, openBrowser, openPage } from '../../kit/browser.ts'
import { example, REHEARSAL_HOME, rehearseText } from './rehearsing.ts'

const folder = mkdtempSync(join(tmpdir(), 'rehearsal-'))
before(() => {
  process.env.MATOOLKIT_HOME = REHEARSAL_HOME
})
after(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

async function command(...args: string[]) {
  const io = recordingIo()
  const words = ['runbook', 'rehearse', ...args]
  const exit = await run(words, io, await commandsFor(words))
  return { exit, out: io.outText(), err: io.errText() }
}

const runbook = file('first.yaml', example('first-migration.yaml'))
const members = file('first.csv', example('first-migration.csv'))
/** Both phases are due at 20:00. */
const windows = file('nights.yaml', 'time_zone: UTC\nhours: [{from: "23:00", to: "20:00"}]\n')

describe('runbook rehearse', () => {
  it('ends with 1 when somebody would fail, and writes the page', async () => {
    const page = join(folder, 'page.html')
    const { exit, out, err } = await command(
      runbook,
      '--members',
      members,
      '-o',
      'table',
      '--report',
      page,
      '--windows-file',
      windows,
    )
    assert.equal(exit, EXIT.failed)
    assert.match(out, /^first-migration: not ready\n3 members in 1 batch: 2 of 3 done, 1 failed\. /)
    assert.match(out, /✗ 1 of 3 members would have failed\./)
    assert.match(out, /PHASE +DUE .* RESULT.*\n.* prepare .* in time.*\n.* cutover .* in time/)
    assert.match(out, /cutover .*in time, waited 3h for the change window/)
    assert.match(out, /\nIn all, phases waited 6h for the change window\.\n/)
    assert.match(out, /! Phase prepare of batch 1 waited 3h for the change window\./)
    assert.match(out, /1 time in step create-account of phase prepare: .*domain portion/)
    assert.match(out, /Who acts: an administrator of the tenant/)
    assert.match(err, /Wrote the report to .*page\.html/)
    const html = readFileSync(page, 'utf8')
    assert.match(html, /<p class="verdict bad">Not ready<\/p>/)
    assert.equal(statSync(page).mode & 0o077, 0, 'it names people')
  })

  it('ends with 0 when it is ready, and answers a script with JSON', async () => {
    const good = file(
      'good.csv',
      example('first-migration.csv').replace('@fabricam.', '@fabrikam.'),
    )
    const { exit, out } = await command(runbook, '--members', good, '--seed', '3')
    const { verdict, seed, timeline } = JSON.parse(out)
    assert.deepEqual([exit, verdict, seed, timeline.length], [EXIT.ok, 'ready', 3, 2])
    const templates = readdirSync(join(REHEARSAL_HOME, 'templates'))
    assert.equal(templates.length, 1, 'the empty database is kept for the next rehearsal')
    assert.match(templates[0]!, /^throw-away-[0-9a-f]{16}\.tar$/)
  })

  const WRONG: readonly [string, () => string[], RegExp][] = [
    [
      'no people',
      () => [file('u.yaml', example('user-migration.yaml'))],
      /source is dataverse.*--members/,
    ],
    [
      'a missing member file',
      () => [runbook],
      /"first-migration.csv" is not in the runbook's folder/,
    ],
    [
      'an unknown fault',
      () => [runbook, '--members', members, '--faults', 'trottling'],
      /"trottling" is not a list of known faults. Name some of throttling, worker-crash/,
    ],
    [
      'a file of channels with a mistake',
      () => [runbook, '--members', members, '--notifications', file('n.yaml', 'channels: []')],
      /n\.yaml:1:11 channels: /,
    ],
    ['a seed that is none', () => [runbook, '--seed', 'x'], /whole number from 1 to/],
    [
      'an invalid runbook',
      () => [file('bad.yaml', 'name: a b'), '--members', members],
      /errors; the first/,
    ],
    [
      'tenants that are none',
      () => [runbook, '--members', members, '--tenant', file('t.json', '{"tenants": 1}')],
      /cannot be used as tenants: tenants: /,
    ],
    [
      'tenants without one for the worker',
      () => [
        runbook,
        '--members',
        members,
        '--tenant',
        file('two.json', '{"tenants":[{"domains":["a.example"]},{"domains":["b.example"]}]}'),
      ],
      /No tenant is for worker "fabrikam-worker": there are a, b/,
    ],
    [
      'a mistake in the windows file',
      () => [
        runbook,
        '--members',
        members,
        '--windows-file',
        file('w.yaml', 'time_zone: UTC\nhours: 1\n'),
      ],
      /w\.yaml:2:8 /,
    ],
    [
      'a page in place of a folder',
      () => [runbook, '--members', members, '--report', folder],
      /it is a folder/,
    ],
  ]
  for (const [what, args, says] of WRONG) {
    it(`refuses ${what} before it begins`, async () => {
      const { exit, out, err } = await command(...args())
      assert.match(err, says)
      assert.notEqual(exit, EXIT.ok)
      assert.equal(out, '')
    })
  }
})

describe('the page of a rehearsal', () => {
  it('needs nothing from elsewhere, shows names instead of parsing them, and is legible for everybody', async () => {
    const hostile = 'ben<script>alert(1)</script>@contoso.example'
    const csv = example('first-migration.csv').replace('ben.brand@contoso.example', hostile)
    const report = await rehearseText(example('first-migration.yaml'), csv)
    const page = rehearsalPage(report, 'Europe/Berlin')
    assert.ok(report.failures.some(({ people }) => people.includes(hostile)))
    assert.doesNotMatch(page, /<script|<link|<img|https?:\/\/|javascript:/i)
    assert.match(page, /ben&lt;script&gt;/)
    assert.match(page, /<html lang="en">/)
    assert.match(page, /<svg role="img" aria-label="/)
    for (const { operation } of report.calls.operations)
      assert.ok(page.includes(`<td>${operation}</td>`), 'the chart has its figures in a table')
    for (const { phase } of report.timeline) assert.ok(page.includes(`<td>${phase}</td>`))
    assert.equal(page.match(/<h1>/g)?.length, 1)
    assert.match(page, /21:00 (CET|GMT\+1)/, 'times are in the zone of the reader')
    await assertLegible(page, report.timeline.length)
  })
})

/** In a real browser, on a screen and on a phone. */
async function assertLegible(html: string, phases: number): Promise<void> {
  const browser = await openBrowser()
  try {
    for (const width of [1_200, 390]) {
      const { page, faults } = await openPage(browser, { viewport: { width, height: 800 } })
      await page.setContent(html)
      assert.deepEqual(await accessibilityProblems(page), [])
      assert.deepEqual(faults, [])
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
      assert.equal(await page.locator('figure').first().locator('.worst').count(), phases)
      const bar = await page.locator('figure .worst').first().boundingBox()
      assert.ok(bar!.width > 1 && bar!.height > 1, 'the chart is drawn')
    }
  } finally {
    await browser.close()
  }
}
