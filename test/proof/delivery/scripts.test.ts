// The scripts behind the pipelines run: the roll-out and its way back, the smoke test, the deployment of a stage, the lint of runbooks.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type JobKeys, readJobKeys } from '../../../src/base/keys/job-keys.ts'
import { readConfig } from '../../../src/base/settings/config.ts'
import { ROOT } from '../../kit/processes.ts'
import { type AzStory, bash, runWithAz } from './az.ts'

const OLD = `old.azurecr.io/matoolkit@sha256:${'0'.repeat(64)}`
const NEW = `new.azurecr.io/matoolkit@sha256:${'1'.repeat(64)}`
const APPS = ['contoso-worker', 'orchestrator', 'scheduler', 'api'].map((app) => `matoolkit-${app}`)
const all = (image: string) => Object.fromEntries(APPS.map((app) => [app, image]))
const MIGRATION = [`job update ${NEW}`, 'job start']
const updates = (apps: readonly string[], image: string) =>
  apps.map((app) => `update ${app} ${image}`)

/** What an API answers that works, or that lets everybody in. */
async function serve(statusWithoutToken: number): Promise<{ url: string; close(): void }> {
  const server = createServer(({ url }, response) => {
    const isClosed = url === '/api/batches'
    response.writeHead(isClosed ? statusWithoutToken : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ isReady: true, checks: [], info: { version: '1.2.3' } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, close: () => server.close() }
}

describe('a roll-out', () => {
  it('migrates, updates one app after another, and tries the API', async () => {
    const api = await serve(401)
    const run = await runWithAz({ apps: all(OLD) }, ['roll-out.sh', NEW], { API_URL: api.url })
    api.close()
    assert.equal(run.code, 0, run.said)
    assert.deepEqual(run.changes, [...MIGRATION, ...updates(APPS, NEW)])
    assert.match(run.said, /version 1\.2\.3 is ready and closed to strangers/)
  })

  it('gives PowerShell workers their image, leaves a worker its own, and can leave the API untried', async () => {
    const pwsh = OLD.replace('matoolkit@', 'matoolkit-pwsh@')
    const own = OLD.replace('matoolkit@', 'ours@')
    const apps = { ...all(OLD), 'matoolkit-contoso-worker': pwsh, 'matoolkit-own-worker': own }
    const PWSH_IMAGE = pwsh.replace('old.', 'new.')
    const run = await runWithAz({ apps }, ['roll-out.sh', NEW], { API_URL: 'none', PWSH_IMAGE })
    assert.equal(run.code, 0, run.said)
    assert.equal(run.apps['matoolkit-contoso-worker'], PWSH_IMAGE)
    assert.equal(run.apps['matoolkit-own-worker'], own)
    assert.equal(run.apps['matoolkit-api'], NEW)
    assert.match(run.said, /matoolkit-own-worker keeps its own image/)
    assert.match(run.said, /The API was not tried/)
  })

  it('updates nothing when the migration fails', async () => {
    const run = await runWithAz({ apps: all(OLD), migration: 'Failed' }, ['roll-out.sh', NEW])
    assert.equal(run.code, 1)
    assert.deepEqual(run.changes, MIGRATION)
    assert.match(run.said, /matoolkit-migrate-1 is Failed\. .*\nNothing was rolled out/)
  })

  it('goes back, last app first, when one does not get healthy; the others are left alone', async () => {
    const sick = { apps: all(OLD), sick: ['matoolkit-scheduler'] }
    const run = await runWithAz(sick, ['roll-out.sh', NEW])
    assert.equal(run.code, 1)
    const tried = APPS.slice(0, 3)
    const back = updates(tried.toReversed(), OLD)
    assert.deepEqual(run.changes, [...MIGRATION, ...updates(tried, NEW), ...back])
    assert.deepEqual(run.apps, all(OLD))
    assert.match(run.said, /matoolkit-scheduler: revision .* is "Provisioned Unhealthy 1"/)
  })

  it('goes back when the API lets strangers in', async () => {
    const api = await serve(200)
    const run = await runWithAz({ apps: all(OLD) }, ['roll-out.sh', NEW], { API_URL: api.url })
    api.close()
    assert.equal(run.code, 1)
    assert.deepEqual(run.apps, all(OLD))
    assert.match(run.said, /answers 200 without a token instead of 401/)
  })

  it('takes an image by its digest only', async () => {
    const run = await runWithAz({ apps: all(OLD) }, [
      'roll-out.sh',
      'x.azurecr.io/matoolkit:latest',
    ])
    assert.deepEqual([run.code, run.changes], [2, []])
  })
})

describe('the deployment of a stage', () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-parameters-'))
  after(() => rmSync(folder, { recursive: true }))
  const example = 'infra/automation/dev.bicepparam'
  const PARAMETERS = join(folder, 'filled.bicepparam')
  const id = '6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10'
  const filled = readFileSync(join(ROOT, example), 'utf8')
    .replaceAll(/(?<!\/)0{8}(?:-0{4}){3}-0{12}/g, id)
    .replace(/0{64}/, '1'.repeat(64))
  writeFileSync(PARAMETERS, filled)
  const env = { STAGE: 'automation', PARAMETERS }

  it('passes the outputs of stage 1 on that stage 2 has a parameter for, and keeps image and disk', async () => {
    const outputs = { keyVaultName: 'vault', insightsNobodyNeeds: 'x', serviceBusName: 'bus' }
    const story = { apps: all(OLD), outputs, diskGb: 256 }
    const run = await runWithAz(story, ['deploy.sh', 'what-if'], env)
    assert.equal(run.code, 0, run.said)
    assert.deepEqual(run.changes, [
      `deployment group what-if --resource-group group --name automation --parameters ${PARAMETERS} --parameters name=matoolkit ` +
        `--parameters keyVaultName=vault --parameters serviceBusName=bus --parameters image=${OLD} --parameters postgresGrownGb=256 --validation-level ProviderNoRbac`,
    ])
  })

  it('makes the tables before the apps of a first deployment, and no apps without tables', async () => {
    const create = (migration: 'Succeeded' | 'Failed') =>
      runWithAz({ apps: {}, outputs: {}, migration }, ['deploy.sh', 'create'], env)
    const { code, said, changes } = await create('Succeeded')
    assert.equal(code, 0, said)
    assert.deepEqual(
      changes.map((change) => / withApps=false$| start$/.exec(change)?.[0] ?? ' all'),
      [' withApps=false', ' start', ' all'],
    )
    const failed = await create('Failed')
    assert.deepEqual([failed.code, failed.changes.length], [1, 2])
    assert.match(
      failed.said,
      /matoolkit-migrate-1 is Failed\. Its log says why: az containerapp job/,
    )
    const again = await runWithAz({ apps: all(OLD), outputs: {} }, ['deploy.sh', 'create'], env)
    assert.equal(again.changes.length, 1)
  })

  it('deploys no values of the example, and says when stage 1 is missing', async () => {
    const given = { ...env, PARAMETERS: example }
    const run = await runWithAz({ apps: {}, outputs: {} }, ['deploy.sh', 'create'], given)
    assert.deepEqual([run.code, run.changes], [2, []])
    assert.match(run.said, /param image = [\s\S]*clientId: [\s\S]*still the example's/)
    assert.doesNotMatch(run.said, /appsSubnetId/)
    const early = await runWithAz({ apps: {} }, ['deploy.sh', 'create'], env)
    assert.equal(early.code, 1)
    assert.match(early.said, /Stage 1 is not in group: deploy it first/)
  })

  it('tries again while a role assignment does not work yet, and not after another refusal', async () => {
    const young = 'Unable to get value using Managed identity for secret job-key'
    const create = (refusals: readonly string[]) =>
      runWithAz({ apps: all(OLD), outputs: {}, refusals }, ['deploy.sh', 'create'], {
        ...env,
        PAUSE_SEC: '0',
        TRIES: '3',
      })
    for (const [refusals, code, calls] of [
      [[young, 'Forbidden: caller is not authorized'], 0, 3],
      [[young, young, young], 1, 3],
      [['InvalidTemplate'], 1, 1],
    ] as const) {
      const run = await create(refusals)
      assert.deepEqual([run.code, run.changes.length], [code, calls], run.said)
      assert.match(run.said, new RegExp(refusals[0]!))
    }
  })

  it('refuses parameters that are not there, and another action', async () => {
    const missing = { ...env, PARAMETERS: 'infra/automation/nowhere.bicepparam' }
    for (const [action, given] of [
      ['create', missing],
      ['delete', env],
    ] as const) {
      const run = await runWithAz({ apps: {}, outputs: {} }, ['deploy.sh', action], given)
      assert.deepEqual([run.code, run.changes], [2, []], run.said)
    }
  })
})

/** As an app reads the secret. */
function keysOf(jobKey: AzStory['jobKey']): JobKeys {
  const read = readConfig({ MATOOLKIT_JOB_KEY: jobKey!.value })
  assert.ok('config' in read, JSON.stringify(read))
  return readJobKeys(read.config)!
}

describe('the rotation of the job key', () => {
  it('adds a key, signs with it, takes the former away, and refuses a step out of order', async () => {
    const env = { KEY_VAULT: 'vault' }
    const rotate = (jobKey: AzStory['jobKey'], step: string) =>
      runWithAz({ apps: {}, jobKey: jobKey! }, ['rotate-job-key.sh', step], env)
    const old = { value: 'b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCE=' }
    const begun = await rotate(old, 'begin')
    const [first, added] = begun.jobKey!.value.split(',')
    assert.deepEqual([begun.code, first, Buffer.from(added!, 'base64').length], [0, old.value, 32])
    assert.ok(!begun.said.includes(added!), 'no key is shown')
    const used = await rotate(begun.jobKey, 'use')
    assert.equal(used.jobKey!.value, `${added},${old.value}`)
    for (const [jobKey, step] of [
      [old, 'use'],
      [old, 'end'],
      [begun.jobKey, 'begin'],
      [begun.jobKey, 'end'],
      [used.jobKey, 'use'],
    ] as const) {
      const refused = await rotate(jobKey, step)
      assert.deepEqual([refused.code, refused.changes, refused.jobKey], [2, [], jobKey], step)
    }
    const ended = await rotate(used.jobKey, 'end')
    assert.equal(ended.jobKey!.value, added)
    // Apps read the secret at different times: each accepts what those one step before and after it sign.
    const course = [old, begun.jobKey, used.jobKey, ended.jobKey].map(keysOf)
    for (const [at, keys] of course.entries())
      for (const other of course.slice(Math.max(0, at - 1), at + 2))
        assert.equal(other.faultIn(keys.sign('{"jobId":"step-1"}')), null, `step ${at}`)
    assert.equal(course[3]!.faultIn(course[0]!.sign('{"jobId":"step-1"}')), 'JobKeyUnknown')
  })
})

describe('the action that lints runbooks', () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-lint-'))
  after(() => rmSync(folder, { recursive: true }))
  const sarif = join(folder, 'out.sarif')
  const output = join(folder, 'output')
  // The matoolkit of this folder, without set-up.
  const command = join(folder, 'matoolkit')
  writeFileSync(
    command,
    `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, 'src/main.ts')}" "$@"\n`,
    { mode: 0o700 },
  )
  const lint = (files: string) => {
    rmSync(sarif, { force: true })
    writeFileSync(output, '')
    return bash([join(ROOT, '.github/actions/lint-runbooks/lint.sh')], {
      PATH: process.env.PATH,
      FILES: files,
      COMMAND: command,
      SARIF: sarif,
      GITHUB_OUTPUT: output,
      MATOOLKIT_HOME: folder,
      NO_COLOR: '1',
    })
  }

  it('passes the examples and leaves a report', async () => {
    const { code, said } = await lint('examples/*.yaml\n')
    assert.equal(code, 0, said)
    assert.match(said, /^5 runbooks/)
    assert.equal((JSON.parse(readFileSync(sarif, 'utf8')) as { version: string }).version, '2.1.0')
    assert.equal(readFileSync(output, 'utf8'), `sarif=${sarif}\n`)
  })

  it('fails for an invalid one, with a report that names it', async () => {
    const bad = join(folder, 'bad.runbook.yaml')
    writeFileSync(bad, 'name: x\nphasen: []\n')
    const { code, said } = await lint(`${folder}/**/*.runbook.yaml`)
    assert.equal(code, 1, said)
    assert.match(readFileSync(sarif, 'utf8'), /UNKNOWN_KEY/)
    assert.equal(readFileSync(output, 'utf8'), `sarif=${sarif}\n`)
  })

  it('runs no command of a pattern, and says that nothing matches', async () => {
    const planted = join(folder, 'planted')
    const { code, said } = await lint(`$(touch ${planted})\n\`touch ${planted}\`; touch ${planted}`)
    assert.equal(code, 1)
    assert.match(said, /No file matches/)
    assert.equal(existsSync(planted), false)
  })
})
