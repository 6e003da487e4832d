// `node scripts/image-tree.ts <folder>`: the whole file tree of the container image, /app there. The Dockerfile builds it with this
// script, and a test starts the same tree without a container engine.
import { resolve } from 'node:path'
import { assemblePackage, copyRuntimePackages } from './package-tree.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) {
  console.error('usage: node scripts/image-tree.ts <folder>')
  process.exit(2)
}
assemblePackage(resolve(folder))
copyRuntimePackages(resolve(folder), 'all')
