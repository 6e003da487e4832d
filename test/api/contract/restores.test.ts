// A restore over HTTP: everything on hold, an audit row, and the list of what ran after the backup.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain } from './fixtures.ts'

interface Restored {
  epoch: string
  backupAt: string
  jobsOut: number
  hold: { scope: string; reason: string; endsWith: string }
}
interface Ran {
  jobs: { jobId: string; memberKey: string | null; batchId: number | null; status: string }[]
  total: number
  next: string | null
  lastRestore: { epoch: string; because: string } | null
}

const LIST = '/api/restored/ran-after-backup'
const members = people(2).map(({ key }) => ({
  key,
  data: { UserPrincipalName: key, Action: 'Switch', Site: 's' },
}))

describe('a restore', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(plain())
    await api.world.batch('plain', members, { startsInMin: 30 })
    await api.world.orchestrate()
  })
  after(() => api.close())

  it('was never told: the list is empty', async () => {
    const { body } = await api.call<Ran>('GET', LIST)
    assert.deepEqual(body, {
      jobs: [],
      total: 0,
      isTotalExact: true,
      next: null,
      lastRestore: null,
    })
    await api.refused(400, 'CURSOR_INVALID', 'GET', `${LIST}?cursor=nonsense`)
  })

  it('holds everything, is in the audit, and no earlier job is answered', async () => {
    const jobs = await api.world.db.query<{ jobId: string }>(
      `select job_id from waits where kind = 'job' order by step_id`,
    )
    const order = { body: { reason: 'loaded the dump of 03:00' } }
    const { status, body, text } = await api.call<Restored>('POST', '/api/restored', order)
    assert.equal(status, 200, text)
    assert.match(body.epoch, /^[a-z2-7]{6}$/)
    assert.equal(body.jobsOut, jobs.length)
    assert.match(body.hold.reason, /^restored from a backup \(loaded the dump of 03:00\)/)
    assert.equal(body.hold.endsWith, 'matoolkit resume --all')
    // Answered before and after the jobs are given back, and by a job that the backup does not know.
    await api.world.result(jobs[0]!, { ok: true })
    await api.world.orchestrate()
    await api.world.result(jobs[0]!, { ok: true })
    await api.world.result(jobs[1]!, { fail: 'no' })
    await api.world.result({ jobId: 'rollback-4711' }, { ok: true })
    await api.world.orchestrate()
    await api.world.work()
    assert.deepEqual(api.world.jobs, [])
    const first = await api.call<Ran>('GET', `${LIST}?limit=2`)
    assert.deepEqual([first.body.jobs.length, first.body.total], [2, 3])
    assert.equal(first.body.lastRestore?.epoch, body.epoch)
    const rest = await api.call<Ran>('GET', `${LIST}?limit=2&cursor=${first.body.next}`)
    const told = [...first.body.jobs, ...rest.body.jobs]
    assert.deepEqual(
      told
        .map(({ jobId, batchId, memberKey, status }) => [jobId, batchId, memberKey, status])
        .sort(),
      [
        ['rollback-4711', null, null, 'Success'],
        [jobs[0]!.jobId, 1, members[0]!.key, 'Success'],
        [jobs[1]!.jobId, 1, members[1]!.key, 'Failure'],
      ],
    )
    const steps = await api.world.db.query(
      'select from step_executions where result_json is not null',
    )
    assert.deepEqual(steps, [])
    const audit = await api.call<{ entries: { action: string; reason: string }[] }>(
      'GET',
      '/api/audit?action=system.restored',
    )
    assert.deepEqual(
      audit.body.entries.map(({ reason }) => reason),
      ['loaded the dump of 03:00'],
    )
  })
})

covers('listRanAfterBackup', 'noteRestore')
