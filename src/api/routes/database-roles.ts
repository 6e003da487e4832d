// The database roles that were set up, and whether each has exactly its rights.
import { z } from 'zod'
import { listRoleReports } from '../../bus/role-rights.ts'
import { findSchemaRights } from '../../db/schema/migrate.ts'
import { read } from '../route.ts'

const databaseRole = z
  .strictObject({
    name: z.string(),
    workerIds: z.array(z.string()).meta({
      description: 'Workers whose jobs it may take; empty for an application.',
    }),
    missing: z.array(z.string()).meta({ description: 'Rights that it lacks.' }),
    excess: z.array(z.string()).meta({ description: 'Rights that it does not need.' }),
  })
  .meta({ id: 'DatabaseRole' })

const listRoute = read({
  method: 'GET',
  path: '/api/database-roles',
  operation: 'listDatabaseRoles',
  tag: 'service',
  summary: 'List the database roles with missing and needless rights',
  rule: 'reader',
  answers: {
    200: z
      .strictObject({
        runsAs: z.string().meta({ description: 'The role of the process that answers.' }),
        isOwner: z.boolean().meta({ description: 'It owns the tables.' }),
        roles: z.array(databaseRole).meta({
          description: 'Those that "matoolkit db grant" has set up.',
        }),
      })
      .meta({ id: 'DatabaseRoles' }),
  },
  handle: async ({ engine: { db } }) => {
    const { role: runsAs, mayMigrate: isOwner } = await findSchemaRights(db)
    return { status: 200, body: { runsAs, isOwner, roles: await listRoleReports(db) } }
  },
})

export const DATABASE_ROLE_ROUTES = [listRoute]
