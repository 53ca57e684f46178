// kernels: ray_sphere
// Nearest hit of one ray per pixel with a list of spheres, and a flat shade.
// Divergence: the loop over spheres is uniform and loads each sphere at a uniform address; the tests inside are per ray, with
// `continue` out of two nested conditions. The loop's own exit stays uniform in spite of the divergent continues.
#include "phalanx_opencl.h"

typedef struct {
  float x, y, z, radius, shade;
} sphere;

kernel void ray_sphere(global const sphere *spheres, int count, global float *image, int width, int height) {
  int px = get_global_id(0), py = get_global_id(1);
  if (px >= width || py >= height)
    return;
  float dx = (float)(2 * px - width) / (float)width, dy = (float)(2 * py - height) / (float)width, dz = 1.0f;
  float scale = 1.0f / sqrt(dx * dx + dy * dy + dz * dz), nearest = 1e30f;
  dx *= scale;
  dy *= scale;
  dz *= scale;
  int hit = -1;
  for (int s = 0; s < count; ++s) {
    sphere ball = spheres[s];
    float along = ball.x * dx + ball.y * dy + ball.z * dz;
    if (along < 0.0f)
      continue;
    float gap = ball.x * ball.x + ball.y * ball.y + ball.z * ball.z - along * along;
    float chord = ball.radius * ball.radius - gap;
    if (chord < 0.0f)
      continue;
    float t = along - sqrt(chord);
    if (t > 0.0f && t < nearest) {
      nearest = t;
      hit = s;
    }
  }
  image[py * width + px] = hit < 0 ? 0.0f : spheres[hit].shade / (1.0f + nearest);
}
