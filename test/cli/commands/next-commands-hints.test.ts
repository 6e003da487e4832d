// Every hint that is printed works in that very state: each command of `failures`, `stuck` and the end of `batch watch` is tried, and
// the first one of each state is run.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { holdBatch } from '../../../src/engine/orders/batch-actions.ts'
import { order, runbook, step } from '../../stories/looking.ts'
import type { World } from '../../stories/world.ts'
import { type Cli, openCli } from '../against-api.ts'

const PHASES = {
  'prepare T-1h': [step('create'), step('tag', 'on_failure: undo'), step('licence')],
  'cutover T-0': [step('switch')],
}
const ROLLBACKS = `rollbacks: { undo: [${step('undo')}] }`
const YAML = runbook('wave', PHASES, ROLLBACKS)
const WITH_INIT = runbook(
  'wave',
  PHASES,
  `init: [{ name: group, worker_id: w1, function: group }]\n${ROLLBACKS}`,
)

interface State {
  readonly name: string
  readonly yaml?: string
  /** The error of a function for the person of that number; undefined when it succeeds. */
  readonly fails: (functionName: string, number: number) => string | undefined
  readonly afterwards?: (world: World) => Promise<unknown>
  /** Hints that must be among the printed ones, and parts that none may have. */
  readonly prints: readonly RegExp[]
  readonly never?: RegExp
}

const LOCKED = (number: number) => `mailbox of user${number}@contoso.example is locked`
const QUOTA = (number: number) => `the mailbox is over its quota by ${number} MB`

const STATES: readonly State[] = [
  {
    name: 'two people who failed alike',
    fails: (name, number) => (name === 'licence' && number <= 2 ? 'no licence left' : undefined),
    prints: [
      /^batch retry 1 --members user1@contoso\.example,user2@contoso\.example$/,
      /^batch skip 1 --members user1@/,
      /^batch remove-member 1 --members user1@/,
    ],
    never: /user3@|--failed-step/,
  },
  {
    name: 'many with two causes at one step',
    fails: (name, number) => {
      if (name !== 'licence') return undefined
      return number <= 4 ? LOCKED(number) : number <= 8 ? QUOTA(number) : undefined
    },
    prints: [
      /^batch retry 1 --failed-phase prepare --failed-step licence --error "[^"]*is locked/,
      /^batch skip 1 --failed-phase prepare --failed-step licence --error "the mailbox is over its quota by"$/,
      /^batch members 1 --failed-phase prepare --failed-step licence --error ".*" --all$/,
    ],
    never: /remove-member|rollback/,
  },
  {
    name: 'two causes that no text tells apart',
    fails: (name, number) => {
      if (name !== 'licence') return undefined
      return number <= 4 ? `${number}` : number <= 8 ? `${number} left` : undefined
    },
    prints: [/^batch retry 1 --failed-phase prepare --failed-step licence$/],
    // Skipping for one cause must not skip for the other.
    never: /skip 1 --failed-phase prepare --failed-step licence(?: --done)?$/,
  },
  {
    name: 'a failed step whose rollback ran',
    fails: (name, number) => (name === 'tag' && number <= 5 ? 'no tag' : undefined),
    prints: [/^batch retry 1 --failed-phase prepare --failed-step tag --from-step tag$/],
  },
  {
    name: 'failed rollback steps of two people',
    fails: (name, number) =>
      (name === 'tag' || name === 'undo') && number <= 2 ? `no ${name}` : undefined,
    prints: [/^batch retry 1 --step-id \d+$/, /^batch skip \d+$/],
  },
  {
    name: 'a failed step in a held batch',
    fails: (name, number) => (name === 'licence' && number <= 2 ? 'no licence left' : undefined),
    afterwards: ({ engine }) => holdBatch(engine, order(1)),
    prints: [/^resume --batch 1$/, /^batch retry 1 --members /],
  },
  {
    name: 'a failed init',
    yaml: WITH_INIT,
    fails: (name) => (name === 'group' ? 'group is missing' : undefined),
    prints: [/^batch retry 1 --init$/],
    never: /retry 1 (?!--init)|skip/,
  },
]

const commandsIn = (text: string): string[] =>
  [...text.matchAll(/^(?: +|.* {2})matoolkit (.*)$/gm)].map(([, command]) => command!.trim())

const words = (command: string): string[] =>
  [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)

const isChange = (command: string): boolean => /^(?:resume|batch (?!members|steps))/.test(command)

async function reach({ world }: Cli['api'], state: State): Promise<void> {
  const { yaml = YAML, fails, afterwards } = state
  world.answer = ({ functionName, parameters }) => {
    const fail = fails(functionName!, Number(/\d+/.exec(String(parameters.Upn))))
    return fail === undefined ? { ok: {} } : { fail }
  }
  await world.publish(yaml)
  await world.batch('wave', 9, { startsInMin: 60 })
  await world.settle()
  await afterwards?.(world)
}

/** Tries a change, which must be accepted for everybody; a read must find somebody. */
async function tryHint({ cli }: Cli, command: string): Promise<void> {
  const more = isChange(command) ? ['--dry-run', '--reason', 'fixed'] : []
  const { exit, out, err } = await cli(...words(command), ...more, '--output', 'json')
  assert.equal(exit, EXIT.ok, `${command}: ${err}`)
  const said = JSON.parse(out) as { doneCount?: number; refusedCount?: number; total?: number }
  assert.notEqual(said.doneCount, 0, `${command} is for somebody`)
  assert.equal(said.refusedCount ?? 0, 0, `${command} is refused for nobody: ${out}`)
  assert.notEqual(said.total, 0, `${command} lists somebody`)
}

describe('an error of Microsoft 365', () => {
  const LOCATION =
    'Microsoft Graph returned 400 Request_BadRequest: License assignment cannot be done for user with invalid usage location.'
  const MEANS = 'The account has no country, and a licence needs one.'
  const REMEDY =
    'Who acts: the author of the runbook. Set UsageLocation in the step of Add-EntraUserLicense. A retry helps after that.'

  it('is explained by failures, stuck and member show, and by the API', async () => {
    const cli = await openCli()
    try {
      await reach(cli.api, {
        name: 'two causes, one of them known',
        fails: (name, number) => {
          if (name !== 'licence') return undefined
          return number <= 2 ? LOCATION : number === 3 ? 'something else' : undefined
        },
        prints: [],
      })
      for (const command of ['failures 1', 'status 1', 'member show 1 user1@contoso.example']) {
        const { out } = await cli.cli(...words(command))
        const told = out.replaceAll(/\s+/g, ' ')
        for (const sentence of [MEANS, REMEDY])
          assert.equal(told.split(sentence).length, 2, `${command} says once: ${sentence}\n${out}`)
      }
      const other = await cli.cli('member', 'show', '1', 'user3@contoso.example')
      assert.doesNotMatch(other.out, /Who acts/)
      const all = await cli.cli('failures')
      assert.match(all.out, /^ +2 +1 +wave +\S+ +licence .*usage location/m, 'with its batch')
      assert.match(all.out, /^ +1 +1 +wave +\S+ +licence .*something else/m)
      assert.match(all.out, /matoolkit failures <batch-id>/)
      const json = async (...command: string[]) =>
        JSON.parse((await cli.cli(...command, '--output', 'json')).out) as {
          groups: { sample: { message: string }; meaning: object | null }[]
          steps: { stepName: string; meaning: object | null }[]
        }
      const meaning = {
        id: 'graph-usage-location-missing',
        means: MEANS,
        actor: 'runbook_author',
        todo: 'Set UsageLocation in the step of Add-EntraUserLicense.',
        retry: 'after_fix',
      }
      const { groups } = await json('failures', '1')
      assert.deepEqual(
        groups.map((group) => group.meaning),
        [meaning, null],
      )
      const { steps } = await json('member', 'show', '1', 'user1@contoso.example')
      assert.deepEqual(
        steps.flatMap((one) => (one.meaning ? [[one.stepName, one.meaning]] : [])),
        [['licence', meaning]],
      )
    } finally {
      await cli.close()
    }
  })
})

describe('every printed hint works:', () => {
  for (const state of STATES) {
    it(state.name, async () => {
      const cli = await openCli()
      try {
        await reach(cli.api, state)
        const failures = await cli.cli('failures', '1')
        const stuck = await cli.cli('status', '1')
        const hints = commandsIn(failures.out)
        for (const pattern of state.prints)
          assert.ok(
            hints.some((hint) => pattern.test(hint)),
            `${pattern} in:\n${failures.out}`,
          )
        if (state.never) for (const hint of hints) assert.doesNotMatch(hint, state.never)
        const also = commandsIn(stuck.out)
        assert.deepEqual(
          hints.filter((hint) => !also.includes(hint)),
          [],
          stuck.out,
        )
        for (const hint of new Set([...hints, ...also])) await tryHint(cli, hint)
        const first = hints[0]!
        const yes = /^batch re(?:sume|start)/.test(first) ? [] : ['--yes']
        const done = await cli.cli(...words(first), '--reason', 'fixed', ...yes)
        assert.equal(done.exit, EXIT.ok, `${first}: ${done.err}`)
        assert.ok(!commandsIn((await cli.cli('failures', '1')).out).includes(first), first)
      } finally {
        await cli.close()
      }
    })
  }

  it('of what is stuck: a worker that was never seen, a batch that waits to be advanced', async () => {
    const cli = await openCli()
    try {
      const { world } = cli.api
      await world.publish(YAML.replaceAll('worker_id: w1', 'worker_id: w9'))
      await world.batch('wave', 2, { startsInMin: 60 })
      await world.settle()
      const people = cli.file('people.csv', 'UserPrincipalName,When\nada@contoso.example,\n')
      await cli.cli('batch', 'create', 'wave', people, '--reason', 'pilot')
      const unknown = await cli.cli('status', '1')
      assert.deepEqual(commandsIn(unknown.out), ['worker list w9'])
      assert.match(
        (await cli.cli('batch', 'phases', '1')).out,
        /\nprepare waits: worker w9 was never seen and is not configured\n/,
      )
      const manual = await cli.cli('status', '2')
      assert.deepEqual(commandsIn(manual.out), ['batch advance 2'], manual.out)
      for (const hint of ['worker list w9', 'batch advance 2']) await tryHint(cli, hint)
      await holdBatch(world.engine, order(2))
      const held = await cli.cli('status', '2')
      assert.deepEqual(commandsIn(held.out), ['resume --batch 2'], 'a held batch is not advanced')
      await tryHint(cli, 'resume --batch 2')
    } finally {
      await cli.close()
    }
  })

  it('at the end of a watch, and none for a batch in which nobody failed', async () => {
    const cli = await openCli()
    try {
      await reach(cli.api, STATES[0]!)
      await cli.api.world.pass(3_600)
      const { out } = await cli.script('batch', 'watch', '1')
      const hints = commandsIn(out)
      assert.ok(
        hints.some((hint) => hint.startsWith('batch retry 1 --members user1@')),
        out,
      )
      for (const hint of hints) await tryHint(cli, hint)
      cli.api.world.answer = () => ({ ok: {} })
      await cli.cli(...words(hints[0]!), '--reason', 'fixed', '--yes')
      await cli.api.world.settle()
      const after = await cli.script('batch', 'watch', '1')
      assert.match(after.out, /\| 9 done/)
      assert.deepEqual(commandsIn(after.out), [])
    } finally {
      await cli.close()
    }
  })
})
