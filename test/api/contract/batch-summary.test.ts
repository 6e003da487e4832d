// Reads for operators over HTTP: summary, failures, blocked work, a member's history, workers, dead letters.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { recordWorker } from '../../../src/db/state/workers.ts'
import { holdBatch } from '../../../src/engine/orders/batch-actions.ts'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain, wave } from './fixtures.ts'

const reason = 'because'
const members = (count: number) => people(count)

describe('reads of a batch', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(plain())
    let failed = 0
    api.world.answer = ({ parameters }) =>
      /user[123]@/.test(String(parameters.UserPrincipalName))
        ? { fail: `${parameters.UserPrincipalName} has 12${failed++} items` }
        : { ok: { id: 7 } }
    await api.world.batch('plain', members(5), { startsInMin: 60 })
    await api.world.settle()
  })
  after(() => api.close())
  const get = <Body>(path: string) => api.call<Body>('GET', `/api/batches/1${path}`)

  it('summarise it with its pace and estimated end', async () => {
    interface Summary {
      steps: object
      throughput: { stepsPerMin: number }
      estimate: { endsAt: string; because: string }
    }
    const { body } = await get<Summary>('/summary')
    assert.deepEqual(body.steps, { total: 5, open: 0, passed: 2, failed: 3 })
    assert.equal(body.throughput.stepsPerMin, 2)
    assert.equal(body.estimate.because, '2 steps left at 2 steps a minute')
    assert.equal(body.estimate.endsAt, '2026-03-02T09:01:00.000Z')
  })

  it('group its failures', async () => {
    interface Failures {
      count: number
      isComplete: boolean
      groups: {
        pattern: string
        count: number
        stepName: string
        sample: { message: string }
        list: string
        actions: { action: string; command: string }[]
      }[]
    }
    const { body } = await get<Failures>('/failures')
    assert.deepEqual([body.count, body.isComplete, body.groups.length], [3, true, 1])
    const { pattern, count, stepName, sample, list, actions } = body.groups[0]!
    assert.deepEqual(
      [pattern, count, stepName],
      ['<address> has <number> items (TestError)', 3, 'create'],
    )
    assert.match(sample.message, /^user\d@contoso.example has 12\d items/)
    assert.equal(list, 'batch members 1 --failed-phase prepare --failed-step create --all')
    assert.equal(actions[0]!.action, 'retry')
    assert.match(actions[0]!.command, /^batch retry 1 --members user\d@.*,user\d@.*,user\d@/)
  })

  it('are one inbox over all batches', async () => {
    interface Status {
      isActionNeeded: boolean
      headline: string
      needs: {
        kind: string
        causes: { text: string; people: string[]; count: number }[]
        count: number
        command: string
      }[]
      phases: { phaseName: string; status: string }[]
      holds: object[]
    }
    const { status, body } = await api.call<Status>('GET', '/api/status')
    assert.equal(status, 200)
    assert.deepEqual([body.isActionNeeded, body.holds], [true, []])
    assert.equal(body.headline, 'Action needed: 3 people of batch 1 failed.')
    const { kind, causes, count, command } = body.needs[0]!
    assert.deepEqual([kind, count, command], ['people_failed', 3, 'matoolkit failures 1'])
    const [cause] = causes
    assert.match(cause!.text, /^3 people failed at create: user\d@contoso.example has 12\d items/)
    assert.deepEqual(
      cause!.people.toSorted(),
      members(3).map(({ key }) => key),
    )
    assert.deepEqual(
      body.phases.map((phase) => [phase.phaseName, phase.status]),
      [['cutover', 'pending']],
    )
  })

  it('find a person by key, by other data, and by a similar one', async () => {
    interface Found {
      how: string | null
      members: {
        batch: { id: number }
        member: { memberKey: string; state: string; where: string }
      }[]
    }
    const find = async (text: string) =>
      (await api.call<Found>('GET', `/api/members?text=${encodeURIComponent(text)}`)).body
    const key = members(5)[4]!.key
    const byKey = await find(key.toUpperCase())
    assert.equal(byKey.how, 'key')
    assert.deepEqual(
      byKey.members.map(({ batch, member }) => [batch.id, member.memberKey, member.state]),
      [[1, key, 'preparing']],
    )
    assert.equal(
      byKey.members[0]!.member.where,
      'waits for phase cutover at 2026-03-02T09:00:00.000Z',
    )
    assert.deepEqual([(await find('user5')).how, (await find('user5')).members.length], ['text', 1])
    const beginning = await find(key.slice(0, -2))
    assert.deepEqual([beginning.how, beginning.members.length], ['text', 1])
    const near = await find('user5@nowhere.example')
    assert.deepEqual([near.how, near.members.length], ['near', 1])
    const nobody = await find('zz')
    assert.deepEqual([nobody.how, nobody.members], [null, []])
  })

  it('list its events, of all members or one, in pages', async () => {
    interface Events {
      events: { id: number; entity: string; event: string; because: string; memberKey: string }[]
      total: number
      next: string
    }
    const course = await get<Events>('/events?entity=batch,phase&sort=oldest')
    assert.equal(course.body.events[0]!.event, 'created')
    const first = await get<Events>('/events?memberId=1&limit=2')
    const second = await get<Events>(`/events?memberId=1&limit=2&cursor=${first.body.next}`)
    assert.ok(second.body.events[0]!.id < first.body.events[1]!.id)
    assert.equal(first.body.events[0]!.memberKey, 'user1@contoso.example')
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/batches/1/events?cursor=x')
  })

  it('tell the whole history of a member', async () => {
    interface Story {
      member: { data: object; status: string }
      steps: { status: string }[]
      attempts: { outcome: string }[]
      events: object[]
    }
    const { body } = await get<Story>('/members/1')
    assert.deepEqual([body.member.status, body.member.data], ['failed', people(1)[0]!.data])
    assert.deepEqual([body.steps[0]!.status, body.attempts[0]!.outcome], ['failed', 'failed'])
    assert.ok(body.events.length >= 3)
    await api.refused(404, 'MEMBER_NOT_FOUND', 'GET', '/api/batches/1/members/99')
  })

  it('list blocked work with the reason', async () => {
    interface Stuck {
      items: { kind: string; because: string; count: number }[]
      waiting: { kind: string; count: number }[]
    }
    const stuckNow = async () =>
      (await api.call<{ stuck: Stuck }>('GET', '/api/needs?batchId=1')).body.stuck
    const kinds = async () => (await stuckNow()).items.map(({ kind }) => kind)
    assert.deepEqual(await kinds(), [])
    await api.world.clock.advance(3_600_000)
    await api.world.orchestrate()
    assert.deepEqual(await kinds(), ['worker_silent'])
    const ends = async () => {
      interface Ends {
        phases: { nightEndsAt: string | null; noEstimateBecause: string | null }[]
      }
      const { phases } = (await api.call<Ends>('GET', '/api/status')).body
      const { estimate } = (
        await get<{ estimate: { night: { endsAt: string | null; because: string } } }>('/summary')
      ).body
      const { nightEndsAt, noEstimateBecause } = phases[0]!
      const { endsAt, because } = estimate.night
      assert.deepEqual([nightEndsAt, noEstimateBecause], [endsAt, endsAt === null ? because : null])
      return noEstimateBecause
    }
    assert.equal(await ends(), null, 'it has begun: the pace of the phase before')
    await holdBatch(api.world.engine, { batchId: 1, actor: 'op', reason: 'wait' })
    assert.match((await ends())!, /^held since 2026-/)
    const stuck = await stuckNow()
    assert.equal(
      stuck.items[0]!.because,
      'batch 1 is held by op: wait; end it with "matoolkit resume --batch 1"',
    )
    assert.deepEqual(
      stuck.waiting.map(({ kind, count }) => [kind, count]),
      [['slot', 2]],
    )
  })

  it('answer 404 for an unknown id', async () => {
    for (const part of ['summary', 'failures', 'events', 'members/1'])
      await api.refused(404, 'BATCH_NOT_FOUND', 'GET', `/api/batches/9/${part}`)
  })

  it('list gates as announced last, and none as closed whose time is over', async () => {
    const { engine } = api.world
    const state = { concurrency: 4, calls: 1, queued: 0, throttled: 2, throttledSec: 9 }
    const inSec = (sec: number) => new Date(+engine.clock.now() + sec * 1_000).toISOString()
    const throttles = [
      { ...state, name: 'Exchange Online', closedUntil: inSec(60) },
      { ...state, name: 'Microsoft Graph directory', closedUntil: inSec(-1) },
    ]
    const announce = (told: typeof throttles) =>
      engine.db.transaction((tx) =>
        recordWorker(
          tx,
          { workerId: 'w1', version: '1', slots: 1000, functions: [], throttles: told },
          new Date('2026-03-02T08:00:00.000Z'),
        ),
      )
    await announce(throttles)
    interface Workers {
      workers: { throttles: object[]; throttledUntil: string | null }[]
    }
    const { body } = await api.call<Workers>('GET', '/api/workers')
    assert.equal(body.workers[0]!.throttledUntil, throttles[0]!.closedUntil)
    assert.deepEqual(body.workers[0]!.throttles, [
      throttles[0],
      { ...throttles[1], closedUntil: null },
    ])
    const one = await api.call('GET', '/api/workers/w1')
    assert.deepEqual(one.body, body.workers[0])
    await api.refused(404, 'WORKER_NOT_FOUND', 'GET', '/api/workers/nobody')
    await announce([])
  })

  it('list the functions of workers with their parameters, page by page', async () => {
    const { db, clock } = api.world.engine
    const parameters = { type: 'object', properties: { UserPrincipalName: { type: 'string' } } }
    const functions = [{ name: 'Do-It', description: 'x', parameters, result: null }]
    const ids = Array.from({ length: 20 }, (_, index) => `a${10 + index}`)
    for (const workerId of ids) {
      const hello = { workerId, version: '1', slots: 1, functions }
      await db.transaction((tx) => recordWorker(tx, hello, clock.now()))
    }
    interface Page {
      catalogues: { workerId: string | null; functions: { name: string; facts: object }[] }[]
      next: string | null
    }
    const first = (await api.call<Page>('GET', '/api/catalogues')).body
    const [packaged, ...announced] = first.catalogues
    assert.equal(packaged!.workerId, null, 'what the program brings along comes first')
    assert.deepEqual(packaged!.functions.find(({ name }) => name === 'Test-EntraLicense')!.facts, {
      effect: 'reads',
      isIdempotent: true,
      undoneBy: [],
      subject: 'entra',
      returns: ['Match', 'UserId', 'SkuId', 'Pending', 'Reason'],
    })
    const doIt = { name: 'Do-It', description: 'x', parameters, facts: null }
    assert.deepEqual(
      announced,
      ids.map((workerId) => ({ workerId, functions: [doIt] })),
    )
    const second = await api.call<Page>('GET', `/api/catalogues?cursor=${first.next}`)
    assert.deepEqual(second.body, {
      catalogues: [{ workerId: 'w1', functions: [] }],
      next: null,
    })
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/catalogues?cursor=x')
    await db.query("delete from workers where worker_id like 'a%'")
  })

  it('list workers with their functions and load', async () => {
    const { body } = await api.call<{ workers: object[] }>('GET', '/api/workers')
    assert.deepEqual(body.workers, [
      {
        workerId: 'w1',
        isKnown: true,
        isConfigured: false,
        isSilent: true,
        state: 'silent',
        held: null,
        version: '1',
        slots: 1000,
        functions: [],
        throttles: [],
        throttledUntil: null,
        firstSeenAt: '2026-03-02T08:00:00.000Z',
        lastSeenAt: '2026-03-02T08:00:00.000Z',
        jobMs: 5,
        maxOutstanding: 1000,
        jobLimit: 1000,
        outstanding: 0,
        oldestSentAt: null,
        waiting: 2,
      },
    ])
  })
})

describe('the status of many batches', () => {
  let api: ApiUnderTest
  const BATCHES = 22
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(plain())
    for (const [index, member] of members(BATCHES).entries())
      await api.world.batch('plain', [member], { startsInMin: 60 + index })
    await api.world.settle()
    // The orchestrator stands still past the time of every phase.
    await api.world.clock.advance(2 * 3_600_000)
  })
  after(() => api.close())
  interface Status {
    isActionNeeded: boolean
    needs: { kind: string; batchId: number | null; text: string; count: number }[]
  }
  const needs = async () => (await api.call<Status>('GET', '/api/status')).body.needs

  it('names each whose phase is late, the oldest first', async () => {
    const found = await needs()
    assert.deepEqual(
      found.map(({ batchId }) => batchId),
      Array.from({ length: BATCHES }, (_, index) => index + 1),
    )
    assert.match(found[0]!.text, /^Batch 1 is late: phase cutover was due at .*no orchestrator/)
  })

  it('says who holds a late phase, also behind a hold that a person set', async () => {
    for (let batchId = 1; batchId < BATCHES; batchId++)
      await holdBatch(api.world.engine, { batchId, actor: 'op', reason })
    const found = await needs()
    assert.equal(found.length, BATCHES)
    assert.match(found[0]!.text, /^Batch 1 is late: .*, but batch 1 is held by op: /)
    assert.match(found.at(-1)!.text, /no orchestrator/)
  })
})

describe('a plan', () => {
  let api: ApiUnderTest
  interface Plan {
    memberCount: number | null
    init: { examples: { functionName: string }[] }[]
    phases: {
      name: string
      dueAt: string | null
      isOverdue: boolean
      steps: {
        name: string
        examples: { memberKey: string; functionName: string; params: object; missing: string[] }[]
      }[]
    }[]
  }
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(wave())
    const data = { UserPrincipalName: 'ada@x.example', Aliases: ['a'], Action: 'Switch-It' }
    await api.world.batch('wave', [{ key: 'ada@x.example', data }], { startsInMin: 60 })
  })
  after(() => api.close())
  const plan = (body: object, name = 'wave') =>
    api.call<Plan>('POST', `/api/runbooks/${name}/plan`, { body })

  it('of a batch lists steps, people and times, with unknown values in brackets', async () => {
    const { body } = await plan({ batchId: 1 })
    assert.deepEqual(
      body.phases.map(({ name, dueAt, isOverdue }) => [name, dueAt, isOverdue]),
      [
        ['prepare', '2026-03-01T09:00:00.000Z', true],
        ['cutover', '2026-03-02T09:00:00.000Z', false],
      ],
    )
    const [prepare, cutover] = body.phases.map(({ steps }) => steps[0]!.examples[0]!)
    assert.deepEqual(prepare!.params, { UserPrincipalName: 'ada@x.example', All: ['a'] })
    assert.deepEqual(
      [cutover!.functionName, cutover!.params, body.memberCount],
      ['Switch-It', { Id: '<ThingId from create>' }, 1],
    )
  })

  it('of an unpublished runbook names the functions that no worker provides', async () => {
    const yamlContent = wave().replace('{{ThingId}}', '{{Nobody}}')
    const { body } = await plan({ yamlContent, member: { UserPrincipalName: 'x' } })
    const missing = body.phases.map(({ steps }) => steps[0]!.examples[0]!.missing)
    assert.deepEqual(missing, [['Aliases'], ['Action', 'Nobody']])
    assert.equal(body.phases[0]!.dueAt, null)
    const dated = await plan({ startTime: '2030-01-02T00:00:00Z' })
    assert.equal(dated.body.phases[0]!.dueAt, '2030-01-01T00:00:00.000Z')
    assert.deepEqual(dated.body.phases[0]!.steps[0]!.examples[0]!.missing, [])
  })

  it('is refused for an unknown batch or an invalid runbook', async () => {
    const refused = (status: number, code: string, body: object, name = 'wave') =>
      api.refused(status, code, 'POST', `/api/runbooks/${name}/plan`, { body })
    await refused(404, 'RUNBOOK_NOT_FOUND', {}, 'nobody')
    await refused(404, 'BATCH_NOT_FOUND', { batchId: 99 })
    await refused(422, 'RUNBOOK_INVALID', { yamlContent: 'name: x' })
    await refused(422, 'RUNBOOK_NAME_DIFFERS', { yamlContent: wave('other') })
  })
})

describe('dead letters', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    const { bus, result } = api.world
    for (const batchId of [1, 2]) await result({ jobId: 'step-1' }, { ok: true }, { batchId })
    const received = await bus.receive(WORKER_RESULTS, 10)
    await bus.deadLetter(received, 'Unreadable', 'no such thing')
  })
  after(() => api.close())
  const PATH = '/api/dead-letters'

  it('are listed by topic, shown in full, and replayed or discarded once', async () => {
    interface Page {
      deadLetters: { id: string; topic: string; reason: string }[]
      next: string | null
    }
    const first = await api.call<Page>('GET', `${PATH}?topic=worker-results&limit=1`)
    assert.equal(first.body.deadLetters[0]!.reason, 'Unreadable')
    const query = `topic=worker-results&cursor=${first.body.next}`
    const second = await api.call<Page>('GET', `${PATH}?${query}`)
    const [one, two] = [first.body.deadLetters[0]!.id, second.body.deadLetters[0]!.id]
    const whole = await api.call('GET', `${PATH}/${one}`)
    assert.match(String(whole.body.body), /"jobId":"step-1"/)
    const sent = await api.call('POST', `${PATH}/${one}`, {
      body: { decision: 'replay', reason },
    })
    assert.match(String(sent.body.sentAs), /-replay-1$/)
    assert.equal(
      (await api.call('POST', `${PATH}/${two}`, { body: { decision: 'discard', reason } })).status,
      200,
    )
    for (const decision of ['replay', 'discard']) {
      const body = { decision, reason }
      await api.refused(409, 'DEAD_LETTER_DECIDED', 'POST', `${PATH}/${one}`, { body })
      await api.refused(404, 'DEAD_LETTER_NOT_FOUND', 'POST', `${PATH}/x`, { body })
    }
    await api.refused(404, 'DEAD_LETTER_NOT_FOUND', 'GET', `${PATH}/77`)
    const [event] = await api.world.db.query<{ because: string }>(
      `select because from events where event = 'dead_letter_replayed' and batch_id = 1`,
    )
    assert.match(event!.because, /^\S+ on worker-results was replayed: because$/)
  })

  it('of jobs are listed for one worker or all; a worker with another topic is refused', async () => {
    for (const query of ['topic=worker-jobs&worker=w1', 'worker=w1', 'topic=worker-jobs'])
      assert.equal((await api.call('GET', `${PATH}?${query}`)).status, 200)
    await api.refused(400, 'REQUEST_INVALID', 'GET', `${PATH}?topic=worker-results&worker=w1`)
  })

  it("of all topics are paged: the orchestrator's first, then each worker's", async () => {
    const { bus, result, db, clock } = api.world
    await result({ jobId: 'step-7' }, { ok: true })
    await bus.deadLetter(await bus.receive(WORKER_RESULTS, 10), 'Odd', 'once more')
    const at = clock.now()
    const job = (worker: string, n: number) =>
      db.query(
        `insert into dead_letters (topic, subscription, message_id, original_message_id, message_type, worker_id, body,
             enqueued_at, expires_at, delivery_count, reason, description, dead_lettered_at)
           values ('worker-jobs', 'worker-' || $1::text, $2, $2, 'worker-job', $1, '{}', $3, $3, 1, 'Expired', '', $3)`,
        [worker, `step-${n}`, at],
      )
    for (const [n, worker] of ['w9', 'w1', 'w9', 'never-seen'].entries()) await job(worker, n)
    interface Page {
      deadLetters: { subscription: string; messageId: string }[]
      next: string | null
    }
    const subscriptions: string[] = []
    let cursor = ''
    do {
      const { body } = await api.call<Page>('GET', `${PATH}?limit=1${cursor}`)
      subscriptions.push(...body.deadLetters.map(({ subscription }) => subscription))
      cursor = body.next === null ? '' : `&cursor=${body.next}`
    } while (cursor !== '')
    // The replayed one is dead again.
    assert.deepEqual(subscriptions, [
      'orchestrator',
      'orchestrator',
      'worker-never-seen',
      'worker-w1',
      'worker-w9',
      'worker-w9',
    ])
    const all = await api.call<Page>('GET', PATH)
    assert.deepEqual([all.body.deadLetters.length, all.body.next], [6, null])
    await api.refused(400, 'CURSOR_INVALID', 'GET', `${PATH}?cursor=x`)
    const gone = Buffer.from('["subscription","worker-jobs/worker-gone 5",0]').toString('base64url')
    assert.deepEqual((await api.call<Page>('GET', `${PATH}?cursor=${gone}`)).body.deadLetters, [])
  })
})

covers(
  'decideDeadLetter',
  'getBatchSummary',
  'getDeadLetter',
  'getMember',
  'getStatus',
  'getWorker',
  'listCatalogues',
  'listDeadLetters',
  'listEvents',
  'listFailureGroups',
  'listWorkers',
  'planRunbook',
)
