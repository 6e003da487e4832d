// The cmdlet module in a real PowerShell, against a running API: import, help, completion, pages, pipeline, -WhatIf, -Confirm and errors.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { POWERSHELL_MODULE } from '../../../scripts/powershell/module.ts'
import { isObject, type Json } from '../../../src/base/text/json.ts'
import { openApiUnderTest } from '../../api/under-test.ts'
import { runbook, step } from '../../stories/looking.ts'
import { people } from '../../stories/world.ts'
import { NO_PWSH, pwshVersion } from './pwsh.ts'

const RUN_MS_MAX = 100_000

function writtenModule(): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'matoolkit-module-')), 'Matoolkit')
  mkdirSync(folder)
  for (const [name, text] of Object.entries(POWERSHELL_MODULE))
    writeFileSync(join(folder, name), text())
  return folder
}

const PEOPLE = [1, 2, 3, 4, 5].map((n) => `user${n}@contoso.example`)
const EXPECTED: Record<string, Json> = {
  warnings: [],
  'not connected': 'NOT_CONNECTED,Invoke-MatRequest',
  connected: userInfo().username,
  'without https': 'HTTPS_NEEDED,Connect-Matoolkit',
  unapproved: [],
  'without help': [],
  help: true,
  completion: ['active', 'cancelled', 'completed', 'detected', 'failed', 'init_dispatched'],
  pages: PEOPLE,
  pipeline: [1, 2],
  filter: 0,
  unknown: 'BATCH_NOT_FOUND,Invoke-MatRequest',
  choice: 'ParameterArgumentValidationError,Get-MatBatch',
  'id of a person': 'InputObjectNotBound,Stop-MatBatch',
  'what if': [],
  'held after what if': 0,
  held: ['mail flow looks odd: Größe 李 😀'],
  asks: 'PSInvalidOperationException,Stop-MatBatch',
  tried: true,
  'status after': 'active',
  'status at the end': 'cancelled',
  'status next door': 'active',
  disconnected: 'NOT_CONNECTED,Invoke-MatRequest',
}

/** Of a failure only its id, which scripts compare. */
const withoutTexts = (told: ReadonlyMap<string, Json>): Record<string, Json> =>
  Object.fromEntries(
    [...told].map(([what, value]) => [what, isObject(value) ? (value.id ?? value) : value]),
  )

describe('the cmdlets', { timeout: 120_000 }, () => {
  it('work at a prompt: what they read, change, refuse and explain', async (test) => {
    if ((await pwshVersion()) === null) return test.skip(NO_PWSH)
    const api = await openApiUnderTest()
    const folder = writtenModule()
    try {
      await api.world.publish(runbook('wave', { 'cutover T-0': [step('move')] }))
      const batch = await api.world.batch('wave', people(5), { startsInMin: 60 })
      const other = await api.world.batch('wave', people(9).slice(5), { startsInMin: 90 })
      const script = join(import.meta.dirname, 'module.ps1')
      const { stdout } = await promisify(execFile)(
        'pwsh',
        ['-NoLogo', '-NoProfile', '-NonInteractive', '-File', script]
          .concat('-Module', folder, '-Url', api.url)
          .concat('-BatchId', String(batch), '-OtherBatchId', String(other)),
        { timeout: RUN_MS_MAX, env: { ...process.env, JUDGED_TOKEN: api.token, NO_COLOR: '1' } },
      )
      const told = new Map<string, Json>()
      for (const line of stdout.split('\n').filter((one) => one.startsWith('{'))) {
        const { what, value } = JSON.parse(line) as { what: string; value: Json }
        told.set(what, value)
      }
      assert.deepEqual(withoutTexts(told), EXPECTED)
    } finally {
      rmSync(join(folder, '..'), { recursive: true })
      await api.close()
    }
  })

  it('leave PSScriptAnalyzer nothing to say', async (test) => {
    if ((await pwshVersion()) === null) return test.skip(NO_PWSH)
    const folder = writtenModule()
    try {
      const command = `if (-not (Get-Module -ListAvailable PSScriptAnalyzer)) { 'none'; exit }
        @(Invoke-ScriptAnalyzer -Path '${folder}' -Recurse | ForEach-Object { "$($_.RuleName) in line $($_.Line)" }) -join "\n"`
      const asked = ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command', command]
      const { stdout } = await promisify(execFile)('pwsh', asked, { timeout: RUN_MS_MAX })
      if (stdout.trim() === 'none') return test.skip('left out: there is no PSScriptAnalyzer')
      assert.equal(stdout.trim(), '')
    } finally {
      rmSync(join(folder, '..'), { recursive: true })
    }
  })
})
