// The pipelines without GitHub: their YAML fits GitHub's own schema, what they name exists, what they run parses, and nothing in them is
// a way in: every action is pinned, every job has the least rights, no secret is used and no text of others reaches a shell.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { ROOT } from '../kit/processes.ts'
import { faultsOf, readPipelines } from './read-workflows.ts'

/** Commits of releases, as their repositories' tags name them (looked up on 16 November 2026). */
const PINNED: Readonly<Record<string, string>> = {
  'actions/checkout': '3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1',
  'actions/dependency-review-action': '2031cfc080254a8a887f58cffee85186f0e49e48 # v4.9.0',
  'actions/setup-node': '820762786026740c76f36085b0efc47a31fe5020 # v7.0.0',
  'actions/upload-artifact': 'bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0',
  'anchore/scan-action': 'e1165082ffb1fe366ebaf02d8526e7c4989ea9d2 # v7.4.0',
  'azure/login': 'f5d393ae46f8fde4be8b75f32e3fc50e654ad0ca # v3.0.1',
  'docker/setup-buildx-action': '37fe631027851001ddb9b187196cc803df7f5f0e # v4.3.0',
  'github/codeql-action/analyze': '8aad20d150bbac5944a9f9d289da16a4b0d87c1e # v4.36.2',
  'github/codeql-action/init': '8aad20d150bbac5944a9f9d289da16a4b0d87c1e # v4.36.2',
  'github/codeql-action/upload-sarif': '8aad20d150bbac5944a9f9d289da16a4b0d87c1e # v4.36.2',
  'sigstore/cosign-installer': '6f9f17788090df1f26f669e9d70d6ae9567deba6 # v4.1.2',
}

/** All other jobs only read. */
const MAY_WRITE: Readonly<Record<string, readonly string[]>> = {
  'deploy-apps import': ['id-token'],
  'deploy-apps roll-out': ['id-token'],
  'deploy-infra deploy': ['id-token'],
  'deploy-infra what-if': ['id-token'],
  'pull-request code': ['security-events'],
  'pull-request runbooks': ['security-events'],
  'release image': ['packages', 'id-token'],
  'release notes': ['contents'],
  'release npm': ['id-token'],
}

const pipelines = readPipelines()
const workflows = pipelines.filter(({ isAction }) => !isAction)
const nameOf = (path: string) => path.replace(/^.*\/(.*)\.yml$/, '$1')
const jobs = workflows.flatMap(({ path, jobs }) =>
  Object.entries(jobs).map(([job, rest]) => ({ ...rest, name: `${nameOf(path)} ${job}` })),
)
const shells = pipelines.flatMap(({ path, steps }) =>
  steps.flatMap(({ run }) => (run === undefined ? [] : [{ path, run }])),
)

describe('pipelines', () => {
  it('are the seven that there should be', () => {
    assert.deepEqual(
      pipelines.map(({ path }) => path.replace('.github/', '')),
      [
        'actions/lint-runbooks/action.yml',
        ...['deploy-apps', 'deploy-infra', 'proof', 'pull-request', 'release', 'weekly'].map(
          (name) => `workflows/${name}.yml`,
        ),
      ],
    )
  })

  it('fit the schema of GitHub, which sees mistakes', () => {
    for (const { path, text, isAction } of pipelines) {
      assert.deepEqual(faultsOf(path, text, isAction), [], path)
      const wrong = text
        .replaceAll('      - uses:', '      - use:')
        .replaceAll('    - uses:', '    - use:')
      assert.notDeepEqual(faultsOf(path, wrong, isAction), [], `${path} with "use:"`)
    }
  })

  it('pin every action to the commit of a release', () => {
    const used = pipelines.flatMap(({ text }) =>
      [...text.matchAll(/uses: (.+)/g)].map(([, use]) => use!),
    )
    assert.ok(used.length > 20)
    for (const use of used.filter((use) => !use.startsWith('./') && !use.startsWith('<owner>'))) {
      const [action, pin] = use.split('@')
      assert.equal(pin, PINNED[action!], use)
    }
  })

  it('give each job its own least rights, a time limit and a fixed machine', () => {
    for (const { path, permissions, concurrency } of workflows) {
      assert.deepEqual(permissions, {}, path)
      assert.ok(concurrency, path)
    }
    for (const { name, permissions = {}, ...job } of jobs) {
      const writes = Object.entries(permissions).filter(([, level]) => level !== 'read')
      assert.deepEqual(
        writes.map(([scope]) => scope),
        MAY_WRITE[name] ?? [],
        name,
      )
      assert.ok((job['timeout-minutes'] ?? 360) <= 90, name)
      assert.doesNotMatch(job['runs-on']!, /latest/, name)
    }
    assert.deepEqual(
      Object.keys(MAY_WRITE).filter((name) => !jobs.some((job) => job.name === name)),
      [],
    )
  })

  it('use no secret, and change Azure only in an environment, which asks for approval', () => {
    for (const { path, text } of pipelines)
      assert.doesNotMatch(
        text,
        /\bsecrets\b|pull_request_target|AZURE_CREDENTIALS|_TOKEN: [^$]/,
        path,
      )
    for (const { name, steps, environment } of jobs)
      if (steps.some(({ uses = '' }) => uses.startsWith('azure/login')))
        assert.match(environment ?? '', /^\$\{\{ inputs\.environment \}\}/, name)
  })

  it('let no text of others reach a shell, and keep no credentials in the checkout', () => {
    for (const { path, run } of shells.filter(
      ({ run }) => !/^\$\{\{ github\.action_path \}\}\/lint\.sh$/.test(run),
    ))
      assert.doesNotMatch(run, /\$\{\{/, path)
    for (const { path, steps } of pipelines)
      for (const step of steps.filter(({ uses = '' }) => uses.startsWith('actions/checkout')))
        assert.equal(step.with?.['persist-credentials'], false, path)
  })

  it('run every shard of the proof, and release no commit without it', () => {
    const proof = jobs.find(({ name }) => name === 'proof proof')!
    assert.deepEqual(proof.strategy?.matrix.shard, [1, 2, 3, 4])
    assert.ok(proof.steps.some(({ run }) => run?.includes('--test-shard=$SHARD/4')))
    const test = jobs.find(({ name }) => name === 'release test')!
    assert.ok(test.steps.some(({ run }) => run?.includes('proof.yml --commit "$GITHUB_SHA"')))
    for (const name of ['release npm', 'release image'])
      assert.equal(jobs.find((job) => job.name === name)!.needs, 'test')
  })

  it('deploy what the release workflow signed, by digest, and choose a runner by a variable that GitHub knows in time', () => {
    const deploy = workflows.find(({ path }) => path.endsWith('deploy-apps.yml'))!
    const run = deploy.steps.map(({ run = '' }) => run).join('\n')
    assert.doesNotMatch(run, /docker (?:buildx )?build|npm /)
    assert.match(run, /cosign verify [\s\S]*release\.yml@refs\/tags\/v\$VERSION/)
    assert.match(run, /az acr import [^|]*"\$image@\$digest"/)
    // Variables of an environment are not known yet when the runner is chosen.
    for (const { name, ...job } of jobs)
      for (const [, variable] of job['runs-on']!.matchAll(/vars(\S+)/g))
        assert.equal(variable, "[format('MATOOLKIT_RUNNER_{0}',", name)
  })

  it('run scripts that exist and shell that parses', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const all = pipelines.map(({ text }) => text).join('\n')
    for (const [, name] of all.matchAll(/npm run (?:-s )?([\w-]+)/g))
      assert.ok(scripts[name!], name)
    const paths = [...all.matchAll(/(?<![\w./-])((?:infra|bin|scripts|\.github)\/[\w./-]*\w)/g)]
    for (const [, path] of paths) assert.ok(existsSync(join(ROOT, path!)), path)
    for (const { path, run } of shells) {
      const { status, stderr } = spawnSync('bash', ['-n'], { input: run, encoding: 'utf8' })
      assert.equal(status, 0, `${path}: ${stderr}`)
    }
  })

  it('deploy with parameters that exist for every environment and stage they offer', () => {
    const { on } = workflows.find(({ path }) => path.endsWith('deploy-infra.yml'))!
    const { inputs } = on.workflow_dispatch as { inputs: Record<string, { options: string[] }> }
    for (const stage of inputs.stage!.options)
      for (const environment of inputs.environment!.options)
        assert.ok(
          existsSync(join(ROOT, `infra/${stage}/${environment}.bicepparam`)),
          `${stage} ${environment}`,
        )
  })

  it('look weekly at what ages without a change: vulnerabilities, with those of development packages', () => {
    const { on, steps } = workflows.find(({ path }) => path.endsWith('weekly.yml'))!
    assert.match(JSON.stringify(on.schedule), /"cron":"\d+ \d+ \* \* [0-6]"/)
    const commands = steps.map(({ run = '' }) => run).join('\n')
    assert.match(commands, /npm audit --audit-level=\w+$/m)
    assert.doesNotMatch(commands, /--omit/)
  })
})

type Manifest = Readonly<
  Partial<Record<'dependencies' | 'optionalDependencies', Record<string, string>>>
>

interface Update {
  readonly 'package-ecosystem': string
  readonly directories: readonly string[]
  readonly schedule: { readonly interval: string }
  readonly cooldown: { readonly 'default-days': number }
  readonly ignore?: readonly { readonly 'dependency-name': string }[]
}

describe('the update bot', () => {
  const { version, updates } = parse(
    readFileSync(join(ROOT, '.github/dependabot.yml'), 'utf8'),
  ) as { version: number; updates: Update[] }

  it('looks weekly at every lock, every action and the image, and takes nothing younger than a week', () => {
    assert.equal(version, 2)
    const seen = updates.map(({ directories, ...rest }) => [rest['package-ecosystem'], directories])
    const locks = globSync('**/package-lock.json', {
      cwd: ROOT,
      exclude: (name) => name === 'node_modules',
    }).map((path) => join('/', dirname(path)))
    const actions = globSync('.github/actions/*', { cwd: ROOT }).map((path) => `/${path}`)
    assert.deepEqual(seen, [
      ['npm', locks.toSorted()],
      ['github-actions', ['/', ...actions]],
      ['docker', ['/']],
    ])
    for (const { schedule, cooldown } of updates)
      assert.deepEqual([schedule.interval, cooldown['default-days'] >= 7], ['weekly', true])
  })

  it('leaves to people what rests on private functions or moves only together', () => {
    const ignored = updates[0]!.ignore!.map((one) => one['dependency-name'])
    const all = ['package.json', 'scripts/node/package.json'].flatMap((path) => {
      const manifest = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Manifest
      return Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
    })
    assert.ok(ignored.includes('@electric-sql/pglite') && ignored.includes('@opentelemetry/*'))
    for (const name of ignored)
      assert.ok(
        all.some(
          (one) => one === name || (name.endsWith('*') && one.startsWith(name.slice(0, -1))),
        ),
        name,
      )
  })
})
