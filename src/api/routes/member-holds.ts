// Hold and resume a selection of members. One member is in holds.ts. A hold takes effect for the whole selection at once, before its jobs
// are withdrawn.
import { z } from 'zod'
import { countStartsOf } from '../../db/orders/member-holds.ts'
import {
  HELD_MEMBERS_MAX,
  holdMembers,
  resumeMembers,
  type StoppedMembers,
  withdrawHeld,
} from '../../engine/orders/member-holds.ts'
import { change } from '../route.ts'
import { bulkAnswer, bulkBody, bulkRoute, forMembers } from '../services/bulk-change.ts'
import { stoppedJobs } from '../shapes/hold-shapes.ts'
import { reason, wholeCount } from '../shapes/shapes.ts'

const holdRoute = change({
  ...bulkRoute,
  path: '/api/batches/{batchId}/members/hold',
  operation: 'holdMembers',
  summary: 'Hold members: no new jobs for them, and queued jobs are withdrawn',
  about: `The reason may follow later. At most ${HELD_MEMBERS_MAX} members of a batch are held one by one.`,
  action: 'members.hold',
  isHold: true,
  errors: [...bulkRoute.errors, 'REFUSED'],
  body: z.strictObject({ ...bulkBody, reason: reason.optional() }),
  answers: {
    200: z.strictObject({ ...bulkAnswer.shape, ...stoppedJobs }).meta({ id: 'HeldMembers' }),
  },
  handle: async (request) => {
    const { engine, params, by } = request
    let stopped: StoppedMembers = { withdrawn: 0, running: 0 }
    const answer = await forMembers(request, {
      covers: { status: ['active', 'failed'], isHeld: false },
      run: holdMembers,
      membersPerChunk: Number.POSITIVE_INFINITY,
      finish: async (memberIds) => {
        stopped = await withdrawHeld(engine, { ...params, memberIds, actor: by.name })
      },
    })
    const { withdrawn: withdrawnJobs, running: runningJobs } = stopped
    return { ...answer, body: { ...answer.body, withdrawnJobs, runningJobs } }
  },
})

const resumeRoute = change({
  ...bulkRoute,
  path: '/api/batches/{batchId}/members/resume',
  operation: 'resumeMembers',
  summary: 'Resume held members; time on hold does not count for retries and polls',
  about: 'What another hold covers stays held.',
  action: 'members.resume',
  body: z.strictObject(bulkBody),
  answers: {
    200: z
      .strictObject({
        ...bulkAnswer.shape,
        startingSteps: wholeCount.meta({
          description: 'Steps, retries and polls that start at once; in a dry run of those tried.',
        }),
      })
      .meta({ id: 'ResumedMembers' }),
  },
  handle: async (request) => {
    const { now, params } = request
    let startingSteps = 0
    const answer = await forMembers(request, {
      covers: { isHeld: true },
      membersPerChunk: Number.POSITIVE_INFINITY,
      run: async (engine, order) => {
        const resumed = await resumeMembers(engine, order)
        startingSteps = await countStartsOf(engine.db, params.batchId, resumed.done, now)
        return resumed
      },
    })
    return { ...answer, body: { ...answer.body, startingSteps } }
  },
})

export const MEMBER_HOLD_ROUTES = [holdRoute, resumeRoute]
