// Routes of migrations between tenants: OneDrives from the source, and Microsoft's own jobs in the target.
import * as jobs from './cross-tenant-jobs.ts'
import { cancelOneDriveTask, getOneDriveTask, makeOneDriveTask } from './onedrive.ts'
import type { GraphRoute } from './routes.ts'

const JOBS = '/solutions/migrations/crossTenantMigrationJobs'
const TASKS = '/solutions/sharePoint/migrations/crossOrganizationMigrationTasks'
const WRITE = ['CrossTenantContentMigration.ReadWrite.All']
const READ = ['CrossTenantContentMigration.Read.All', ...WRITE]

const ONEDRIVE_ROUTES: readonly GraphRoute[] = [
  {
    method: 'POST',
    path: TASKS,
    isBeta: true,
    permissions: ['SharePointCrossTenantMigration.Manage.All'],
    about:
      'Moves the OneDrive of a user to another tenant of the sandbox, or tries it (`validateOnly`). Replaces a task that has not started. 404 for an unknown source. Unconfirmed: 409 for one that runs or is done.',
    handle: makeOneDriveTask,
  },
  {
    method: 'GET',
    path: `${TASKS}/{task}`,
    isBeta: true,
    permissions: ['SharePointCrossTenantMigration.Read.All'],
    about:
      "By id, or `getBySourceUserPrincipalName(sourcePrincipalName='…')`. An unknown target fails the task.",
    handle: getOneDriveTask,
  },
  {
    method: 'POST',
    path: `${TASKS}/{task}/cancel`,
    isBeta: true,
    permissions: ['SharePointCrossTenantMigration.Manage.All'],
    about: '204 before it starts. Unconfirmed: 409 afterwards.',
    handle: cancelOneDriveTask,
  },
]

export const MIGRATION_ROUTES: readonly GraphRoute[] = [
  ...ONEDRIVE_ROUTES,
  {
    method: 'GET',
    path: JOBS,
    permissions: READ,
    about: 'Lists the jobs, paged.',
    handle: jobs.listJobs,
  },
  {
    method: 'POST',
    path: JOBS,
    permissions: WRITE,
    about:
      '201. Up to 100 people of this tenant; a date in the future; `exchangeSettings` with mailboxes. 422 for a name in use or a date in the past. Waits to be validated.',
    handle: jobs.makeJob,
  },
  {
    method: 'GET',
    path: `${JOBS}/{job}`,
    permissions: READ,
    about: 'One job. 404 for an unknown one.',
    handle: jobs.getJob,
  },
  {
    method: 'PATCH',
    path: `${JOBS}/{job}`,
    permissions: WRITE,
    about: '204. Changes the date, and nothing else. 409 once it cuts over.',
    handle: jobs.updateJob,
  },
  {
    method: 'POST',
    path: `${JOBS}/{job}/validate`,
    permissions: WRITE,
    about:
      'Checks every person after a while: `validatePassed` or `validateFailed`. 409 unless submitted or failed before.',
    handle: jobs.validateJob,
  },
  {
    method: 'POST',
    path: `${JOBS}/{job}/migrate`,
    permissions: WRITE,
    about:
      'Syncs, and cuts over on its own after the date; mailboxes really move. 409 unless validated within seven days.',
    handle: jobs.startJob,
  },
  {
    method: 'POST',
    path: `${JOBS}/{job}/cancel`,
    permissions: WRITE,
    about: '202 before the date. 409 afterwards, and when it has ended.',
    handle: jobs.cancelJob,
  },
  {
    method: 'GET',
    path: `${JOBS}/{job}/users`,
    permissions: READ,
    about: 'Lists people with the status of each workload, paged.',
    handle: jobs.listPeople,
  },
  {
    method: 'GET',
    path: `${JOBS}/{job}/users/{person}`,
    permissions: READ,
    about: 'One person. 404 for someone who is not in the job.',
    handle: jobs.getPerson,
  },
  {
    method: 'POST',
    path: `${JOBS}/{job}/users/{person}/cancel`,
    permissions: WRITE,
    about: '202 before the date. 409 afterwards.',
    handle: jobs.cancelPerson,
  },
]
