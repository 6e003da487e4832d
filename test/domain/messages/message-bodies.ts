// A body of every message, as this program writes it. Each release keeps them as a fixture (test/stories/releases/fixture.ts).
import type { Body, MessageType } from '../../../src/domain/messages/messages.ts'

const ofRunbook = { runbookName: 'contoso', runbookVersion: 1 }
export const RESULT: Body<'worker-result'> = {
  jobId: 'step-7',
  batchId: 1,
  workerId: 'w1',
  functionName: 'Get-Mailbox',
  status: 'Success',
  resultType: 'Object',
  result: null,
  error: null,
  durationMs: 1,
  timestamp: '2026-03-01T10:00:00.000Z',
  correlationData: null,
}
export const BODIES: { [T in MessageType]: Body<T> } = {
  'batch-init': { ...ofRunbook, batchId: 1, batchStartTime: null, memberCount: 0 },
  'phase-due': {
    ...ofRunbook,
    batchId: 1,
    phaseExecutionId: 2,
    phaseName: 'cutover',
    offsetMinutes: -10_080,
    dueAt: '2026-03-01T10:00:00.000Z',
  },
  'member-added': { ...ofRunbook, batchId: 1, batchMemberId: 2, memberKey: 'ada@contoso.example' },
  'member-removed': {
    ...ofRunbook,
    batchId: 1,
    batchMemberId: 2,
    memberKey: 'ada@contoso.example',
  },
  'poll-check': {
    ...ofRunbook,
    batchId: 1,
    stepExecutionId: 7,
    stepName: 'wait',
    pollCount: 3,
    isInitStep: false,
  },
  'retry-check': { ...ofRunbook, batchId: 1, stepExecutionId: 7, isInitStep: true },
  'worker-job': {
    jobId: 'step-7',
    batchId: 1,
    workerId: 'w1',
    functionName: 'Get-Mailbox',
    parameters: { Count: 1, Nested: { jobId: 'kept', JobId: 'as it is' } },
    correlationData: { ...ofRunbook, stepExecutionId: 7, isInitStep: false },
    timeoutSec: 3_600,
    notAfter: '2026-03-01T11:00:00.000Z',
  },
  'worker-result': RESULT,
  'worker-hello': {
    workerId: 'w1',
    version: '0.1.0',
    slots: 4,
    functions: [{ name: 'Get-Mailbox', parameters: { type: 'object' } }],
  },
  'worker-recall': { workerId: 'w1', since: '2026-03-01T03:00:00Z', epoch: 'k3f2qz' },
  'worker-stop': { workerId: 'w1', jobIds: ['step-7'], because: 'the batch is held' },
}
