from small_release import candidate, out

__all__ = ["candidate", "out"]
