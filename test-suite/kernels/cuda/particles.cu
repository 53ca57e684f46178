// kernels: cell_forces, integrate_half
// Particles in a grid of cells with short-range forces, and an integrator on half-precision velocities.
// Divergence: two nested loops with bounds from memory and two divergent `continue`s; a call of a function that is not
// inlined in the innermost one; a chain of divergent `if`s that reflect particles at the walls.
#include "phalanx_cuda.h"

struct Particle {
  float x, y;
  int cell;
};
struct Force {
  float x, y;
};

static __device__ __noinline__ float push(float distance, float reach) {
  if (distance >= reach)
    return 0.0f;
  float gap = 1.0f - distance / reach;
  return gap * gap * rsqrtf(distance + 0.01f);
}

extern "C" __global__ void cell_forces(const Particle *particles, const int *cell_start, Force *force, int cells, float reach, int n) {
  int i = global_index();
  if (i >= n)
    return;
  Particle p = particles[i];
  Force f = {0.0f, 0.0f};
  for (int cell = max(p.cell - 1, 0); cell <= min(p.cell + 1, cells - 1); ++cell)
    for (int j = cell_start[cell]; j < cell_start[cell + 1]; ++j) {
      if (j == i)
        continue;
      float dx = p.x - particles[j].x, dy = p.y - particles[j].y, distance = sqrtf(dx * dx + dy * dy);
      float strength = push(distance, reach);
      if (strength == 0.0f)
        continue;
      f.x += strength * dx;
      f.y += strength * dy;
    }
  force[i] = f;
}

extern "C" __global__ void integrate_half(Particle *particles, _Float16 *vx, _Float16 *vy, float dt, int n) {
  int i = global_index();
  if (i >= n)
    return;
  Particle p = particles[i];
  p.x += dt * (float)vx[i];
  p.y += dt * (float)vy[i];
  if (p.x < 0.0f || p.x > 1.0f)
    vx[i] = -vx[i];
  if (p.y < 0.0f || p.y > 1.0f)
    vy[i] *= (_Float16)-0.5f;
  particles[i] = p;
}
