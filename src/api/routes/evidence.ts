// Evidence: a batch as one signed archive, and the key that signs.
import { z } from 'zod'
import { packSource } from '../evidence/pack-source.ts'
import { writePack } from '../evidence/write-pack.ts'
import { read } from '../route.ts'
import { loadBatchLine } from '../shapes/batch-state.ts'
import { id } from '../shapes/shapes.ts'

const PACK_TYPE = 'application/gzip'

const packRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/evidence',
  operation: 'getBatchEvidence',
  tag: 'batches',
  summary: 'Get everything about a batch as one signed archive',
  about:
    'A tar archive, compressed with gzip, that `matoolkit evidence verify` checks offline; docs/security.md explains it. It is written while it is sent; one that ends early cuts the connection.',
  rule: 'admin',
  isPersonal: true,
  gives: PACK_TYPE,
  errors: ['BATCH_NOT_FOUND', 'EVIDENCE_KEY_MISSING'],
  params: z.strictObject({ batchId: id }),
  answers: {
    200: z.custom<AsyncIterable<Uint8Array>>().meta({ description: 'The archive.' }),
  },
  handle: async ({ engine: { db }, services, params: { batchId }, by, now, signal }) => {
    const line = await loadBatchLine(db, batchId)
    const key = services.signingKey()
    const source = await packSource(db, line, by, now)
    const name = `batch-${batchId}-evidence.tar.gz`
    return {
      status: 200,
      body: writePack(source, key, signal),
      headers: { 'content-disposition': `attachment; filename="${name}"` },
    }
  },
})

const keyRoute = read({
  method: 'GET',
  path: '/api/evidence/key',
  operation: 'getEvidenceKey',
  tag: 'audit',
  summary: 'Show the public key that signs evidence packs',
  rule: 'reader',
  errors: ['EVIDENCE_KEY_MISSING'],
  answers: {
    200: z
      .strictObject({
        fingerprint: z
          .string()
          .meta({ description: 'SHA-256 of the public key (SPKI, DER), in hex.' }),
        publicKey: z.string().meta({ description: 'As PEM.' }),
      })
      .meta({ id: 'EvidenceKey' }),
  },
  handle: async ({ services }) => {
    const { fingerprint, publicKeyPem } = services.signingKey()
    return { status: 200, body: { fingerprint, publicKey: publicKeyPem } }
  },
})

export const EVIDENCE_ROUTES = [packRoute, keyRoute]
